"""`/chatkit`: one endpoint that takes every request of the protocol, and a page that speaks it.

The package is imported with the first request. A stream that is cancelled is a turn that is
stopped: this protocol has no other word for it.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
from starlette.responses import HTMLResponse, Response, StreamingResponse

from turnlog.errors import BadInput, TurnlogError
from turnlog.ports import Upload
from turnlog.transports import sse
from turnlog.transports.http.bodies.uploads import Form
from turnlog.transports.http.request import UserRequest, decoded, json_response
from turnlog.transports.protocols.files import HEAD, kind_of

MOST_BYTES = 1_000_000
MOST_LISTED = 1000  # threads, or items of one, in one answer
NO_SESSION = ""  # in which a file was uploaded
MISSING = "ChatKit is not installed here. Install turnlog[openai]."
NO_RETRY = "An answer cannot be made anew: the log is append-only. Ask again."
CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class AnyRequest(msgspec.Struct, kw_only=True):
    """A request of the ChatKit protocol. The package's own models check the rest."""

    type: str
    params: dict[str, Any] = {}


EXAMPLE = {"type": "threads.list", "params": {}}


async def page(request: UserRequest) -> Response:
    """A page of ours that speaks the protocol: OpenAI's own widget comes from its CDN only."""
    return HTMLResponse(_page(), headers={"content-security-policy": CSP})


@lru_cache
def _page() -> str:
    return files("turnlog.transports.protocols.chatkit").joinpath("page.html").read_text()


async def process(request: UserRequest) -> Response:
    raw = await request.raw(MOST_BYTES)
    asked = decoded(raw, AnyRequest)
    limit = asked.params.get("limit")
    if isinstance(limit, int) and not 1 <= limit <= MOST_LISTED:
        raise BadInput(f"'limit' must be between 1 and {MOST_LISTED}.")
    if asked.type == "threads.retry_after_item":
        raise BadInput(NO_RETRY)
    if thread_id := asked.params.get("thread_id"):
        await request.backend.store.get_session(request.user.id, str(thread_id))
    server, context_of = await asyncio.to_thread(_server)
    context = context_of(request.backend, request.user)
    return await _answer(server, raw, context, request)


async def upload(request: UserRequest) -> Response:
    """The protocol's direct upload: a file, before anybody knows in which thread it will be sent.
    It is the user's, as every file is, and its id is the attachment's.
    """
    form = Form(request.http)
    name, chunks = await form.begin(), form.chunks()
    try:
        head = b""
        while len(head) < HEAD and (chunk := await anext(chunks, b"")):
            head += chunk
        sent = Upload(request.user.id, NO_SESSION, kind_of(head), name, _after(head, chunks))
        file = await request.backend.files.receive(sent)
    except TurnlogError:
        await form.drain()  # a client that still writes would not read the answer
        raise
    about = {"type": "file", "id": file.id, "name": file.name, "mime_type": file.media_type}
    return json_response(about)


async def _after(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for chunk in rest:
        yield chunk


async def _answer(server: Any, raw: bytes, context: Any, request: UserRequest) -> Response:
    from chatkit.server import StreamingResult
    from chatkit.store import NotFoundError
    from pydantic import ValidationError

    from turnlog.errors import NotFound

    try:
        result = await server.process(raw, context)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(f"The body does not fit: {place}: {first['msg']}.") from None
    except NotFoundError as error:
        raise NotFound(str(error)) from None
    if isinstance(result, StreamingResult):
        return StreamingResponse(_frames(result), headers=sse.HEADERS)
    return Response(result.json, media_type="application/json")


async def _frames(result: Any) -> AsyncIterator[bytes]:
    """What was refused after the stream began is an event of it."""
    from chatkit.store import NotFoundError

    try:
        async for frame in result:
            yield frame
    except (TurnlogError, NotFoundError) as error:
        problem = {"type": "error", "code": "custom", "message": str(error), "allow_retry": False}
        yield b"data: %s\n\n" % msgspec.json.encode(problem)


@lru_cache
def _server() -> Any:
    try:
        from turnlog.transports.protocols.chatkit.server import Context, Server
    except ImportError:
        raise BadInput(MISSING) from None
    return Server(), Context
