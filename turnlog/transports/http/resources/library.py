"""The library over HTTP: documents are added, listed and deleted."""

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput, NotFound
from turnlog.ports.library import Library, PageText
from turnlog.transports.http.request import UserRequest, json_response


class NewDocument(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """POST /api/library"""

    file_id: str | None = None  # an upload of the user's
    text: str | None = None  # or Markdown, or any text
    title: str | None = None  # default: the file's name
    team: str | None = None  # None: the user's own


async def find(request: UserRequest) -> Response:
    library = request.backend.library
    documents = [] if library is None else await library.documents(request.user.id)
    return json_response({"documents": documents})


async def add(request: UserRequest) -> Response:
    given = await request.body(NewDocument)
    if (given.file_id is None) == (given.text is None):
        raise BadInput("A document has a 'fileId' or a 'text'.")
    pages: list[PageText] = [(given.text or "", None)]
    title, source = given.title or "", "text"
    if given.file_id is not None:
        file = await request.backend.files.get(request.user.id, given.file_id)
        read = await request.backend.files.text(file)
        # What is not a PDF has one page, or parts that no reader numbers.
        pages = [(page.text, page.page if file.kind == "pdf" else None) for page in read]
        title, source = title or file.name, f"file:{file.id}"
    document = await _library(request).add(
        request.user.id, title, pages, source=source, team=given.team
    )
    return json_response(document, 202)


async def get(request: UserRequest) -> Response:
    """One document, with how far its indexing is."""
    document_id = request.id("document_id")
    return json_response(await _library(request).document(request.user.id, document_id))


async def delete(request: UserRequest) -> Response:
    document_id = request.id("document_id")
    return json_response(await _library(request).delete(request.user.id, document_id))


def _library(request: UserRequest) -> Library:
    if request.backend.library is None:
        raise NotFound("This server has no library.")
    return request.backend.library
