"""Files over HTTP: uploaded, listed, looked at, given out and deleted."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from turnlog.errors import BadInput, TurnlogError
from turnlog.ports import File, Upload
from turnlog.ports.files import FileKind, OnProgress
from turnlog.transports import problem
from turnlog.transports.http.bodies.progress import ProgressStream
from turnlog.transports.http.bodies.ranges import is_known, wanted
from turnlog.transports.http.bodies.uploads import Form
from turnlog.transports.http.request import UserRequest, json_response

MOST_PAGES = 200  # given out at once
SHOWN_IN_A_BROWSER = ("image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf")
# A file is its user's: no script of it runs, whatever is in it. Our own pages may frame it. It is
# not packed again: that would hold everybody up, and make it no smaller.
HARMLESS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'self'; sandbox",
    "x-frame-options": "SAMEORIGIN",
    "cache-control": "private, max-age=3600",
    "content-encoding": "identity",
}
# Browsers show no PDF in a sandbox; their viewers run its scripts in one of their own.
FOR_A_VIEWER = {
    "content-security-policy": (
        "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
    ),
}
PDF = "application/pdf"
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


async def upload_image(request: UserRequest) -> Response:
    return await _upload(request, "image", _image)


async def upload_pdf(request: UserRequest) -> Response:
    return await _upload(request, "pdf", _pdf)


async def upload_document(request: UserRequest) -> Response:
    return await _upload(request, "document", _document)


async def find(request: UserRequest) -> Response:
    """The user's files, page by page."""
    limit = request.number("limit", 50, least=1, most=200)
    files = await request.backend.files.page(
        request.user.id, limit=limit + 1, after=request.cursor()
    )
    cursor = files[limit - 1].id if len(files) > limit else None
    return json_response({"files": [shown(file) for file in files[:limit]], "cursor": cursor})


async def get(request: UserRequest) -> Response:
    return json_response(shown(await _file(request)))


async def content(request: UserRequest) -> Response:
    """The file, or a part of it: 206. What the client has already: 304."""
    file, asked = await _file(request), request.http.headers
    etag = f'"{file.sha256}"'
    if is_known(asked, etag):
        return Response(status_code=304, headers={"etag": etag})
    part = wanted(asked, etag, file.size) if request.http.method == "GET" else None
    headers = _headers(file.media_type) | {
        "content-disposition": _disposition(file),
        "etag": etag,
        "accept-ranges": "bytes",
    }
    if part is not None:
        headers["content-range"] = part.told(file.size)
        if not part:
            return _not_there(file, headers["content-range"])
    start, end = part or (0, file.size)
    headers["content-length"] = str(end - start)
    chunks = request.backend.files.content(file, start, end)
    first = await anext(chunks, b"")  # here, so that what is not there is a 404
    status = 200 if part is None else 206
    return StreamingResponse(_after(first, chunks), status, headers, file.media_type)


def _not_there(file: File, range_: str) -> Response:
    sentence = f"The file has {file.size} bytes; this range begins behind them."
    answer = problem.response(416, "Range not satisfiable", sentence, "bad_input")
    answer.headers["content-range"] = range_
    return answer


async def thumbnail(request: UserRequest) -> Response:
    page = request.number("page", 1, least=1, most=1_000_000)
    width = request.number("width", 320, least=16, most=1600)
    picture = await request.backend.files.thumbnail(await _file(request), page=page, width=width)
    kind = "image/jpeg" if picture.startswith(b"\xff\xd8") else "image/png"
    return Response(picture, headers=HARMLESS, media_type=kind)


async def pages(request: UserRequest) -> Response:
    """The text of some pages; the pages themselves with `Accept: application/pdf`."""
    file = await _file(request)
    numbers = page_numbers(request.query("pages") or "", file.pages or 1)
    if request.accepts(PDF):
        pdf = await request.backend.files.extract(file, numbers)
        return Response(pdf, headers=_headers(PDF), media_type=PDF)
    texts = await request.backend.files.pages(request.user.id, file.id, numbers)
    return json_response({"fileId": file.id, "pages": [page._asdict() for page in texts]})


async def delete(request: UserRequest) -> Response:
    await request.backend.files.delete(request.user.id, request.id("file_id"))
    return Response(status_code=204)


def page_numbers(text: str, pages: int) -> list[int]:
    """`1,3-5` as numbers; nothing is all of them, or as many as are given out at once."""
    if not text:
        return list(range(1, min(pages, MOST_PAGES) + 1))
    numbers: list[int] = []
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else 0
        if not match or not first <= last:
            raise BadInput("'pages' must be like 1,3-5.")
        if last > pages:
            raise BadInput(f"There is no page {last}: the file has {pages}.")
        numbers += range(first, last + 1)
        if len(numbers) > MOST_PAGES:
            raise BadInput(f"{MOST_PAGES} pages are given out at once, not more.")
    return numbers


def shown(file: File) -> dict[str, Any]:
    """A file as its user sees it."""
    facts: dict[str, Any] = {
        "id": file.id,
        "name": file.name,
        "kind": file.kind,
        "mediaType": file.media_type,
        "size": file.size,
        "sha256": file.sha256,
        "createdAt": file.created_at,
        "sessionId": file.session_id,
        "dimensions": file.dimensions,
        "pages": file.pages,
        "textLength": file.text_length,
        "metadata": file.metadata,
        "uses": file.uses,
        "lastUsedAt": file.last_used_at,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _image(file: File) -> dict[str, Any]:
    return {
        "fileId": file.id,
        "mediaType": file.media_type,
        "size": file.size,
        "dimensions": file.dimensions,
    }


def _pdf(file: File) -> dict[str, Any]:
    return {
        "fileId": file.id,
        "pages": file.pages,
        "textLength": file.text_length,
        "metadata": file.metadata,
        "size": file.size,
    }


def _document(file: File) -> dict[str, Any]:
    return _pdf(file) | {"mediaType": file.media_type}


async def _upload(
    request: UserRequest, kind: FileKind, answer: Callable[[File], dict[str, Any]]
) -> Response:
    session_id = request.id("session_id")
    session = await request.backend.store.get_session(request.user.id, session_id)
    form = Form(request.http)
    upload = Upload(request.user.id, session.id, kind, await form.begin(), form.chunks())

    async def receive(on_progress: OnProgress) -> dict[str, Any]:
        try:
            file = await request.backend.files.receive(upload._replace(on_progress=on_progress))
            return answer(file)
        except TurnlogError:
            await form.drain()  # a client that still writes would not read the answer
            raise

    if request.accepts("text/event-stream"):
        return ProgressStream(request.http, receive)
    return json_response(await receive(lambda done, of: None))


async def _file(request: UserRequest) -> File:
    return await request.backend.files.get(request.user.id, request.id("file_id"))


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


def _headers(media_type: str) -> dict[str, str]:
    return HARMLESS | (FOR_A_VIEWER if media_type == PDF else {})


def _disposition(file: File) -> str:
    how = "inline" if file.media_type in SHOWN_IN_A_BROWSER else "attachment"
    return f"{how}; filename*=UTF-8''{quote(file.name, safe='')}"
