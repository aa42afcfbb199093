"""Files in other protocols: named by the address that they have here, or brought along.

What a message brings along, as base64, is kept like an upload: the same content is one file, so a
request that is sent again brings nothing new.
"""

import binascii
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from turnlog.errors import BadInput, TooLarge
from turnlog.ports import Backend, Question, Upload, User
from turnlog.ports.files import MOST_FILES, FileKind

Json = dict[str, Any]

_ADDRESS = re.compile(r"(?:https?://[^/]+)?/api/files/([^/?#]+)(?:/content)?(?:[?#].*)?")
MOST_ADDRESS = 2_000  # characters
MOST_PLAIN = 100_000  # characters of a file that is not base64: they are read one by one
HEAD = 1024  # bytes that say what a file is
_IMAGES = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF")
NOT_OURS = (
    "Other servers are not asked for files. Send the file itself (as base64), or upload it "
    "(POST /api/sessions/{id}/files) and send its address: /api/files/{id}/content."
)


class Sent(NamedTuple):
    """A file of a message: the id of one of ours, or what it is."""

    file_id: str = ""
    content: bytes = b""
    name: str = ""


def address(file: dict[str, Any]) -> str:
    """Where a file of a question is, as `file_at` reads it."""
    return f"/api/files/{file['id']}/content"


def is_image(file: dict[str, Any]) -> bool:
    return str(file.get("mediaType", "")).startswith("image/")


def file_at(url: str, name: str = "") -> Sent:
    """The file at one of our addresses, or in a `data:` URL. Raises BadInput for any other."""
    if not url.startswith("data:"):
        match = _ADDRESS.fullmatch(url) if len(url) <= MOST_ADDRESS else None
        if match is None:
            raise BadInput(NOT_OURS)
        return Sent(file_id=match[1])
    head, _, text = url.partition(",")
    media_type, *options = head[len("data:") : MOST_ADDRESS].split(";")
    if "base64" in options:
        return file_in(text, media_type, name)
    if len(text) > MOST_PLAIN:
        raise BadInput("A file in this message is too long to be plain text. Send it as base64.")
    return Sent(content=unquote_to_bytes(text), name=_named(name, media_type))


def file_in(text: str, media_type: str, name: str = "") -> Sent:
    """The file that this base64 is."""
    try:
        content = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        raise BadInput("A file in this message is not base64.") from None
    return Sent(content=content, name=_named(name, media_type))


def files_in(parts: Sequence[Json], read: Callable[[Json], Sent]) -> list[Sent]:
    """What these parts of a message are. Raises TooLarge before any of them is read."""
    if len(parts) > MOST_FILES:
        raise TooLarge(f"A message may have {MOST_FILES} files; this one has {len(parts)}.")
    return [read(part) for part in parts]


async def with_files(
    backend: Backend, user: User, session_id: str, question: Question, sent: Sequence[Sent]
) -> Question:
    """The question with its files, after those that it brings along are kept.

    `session_id` is empty where the question begins a session: a file that is refused begins none.
    Raises what an upload raises: TooLarge, Unreadable, TooMany, NotFound.
    """
    if not sent:
        return question
    if session_id:
        await backend.store.get_session(user.id, session_id)
    ids = [each.file_id or await _kept(backend, user, session_id, each) for each in sent]
    return msgspec.structs.replace(question, file_ids=ids)


def kind_of(head: bytes) -> FileKind:
    """What a file that begins like this is received as."""
    if head.startswith(_IMAGES):
        return "image"
    return "pdf" if b"%PDF-" in head[:HEAD] else "document"


async def _kept(backend: Backend, user: User, session_id: str, sent: Sent) -> str:
    async def chunks() -> AsyncIterator[bytes]:
        yield sent.content

    upload = Upload(user.id, session_id, kind_of(sent.content), sent.name, chunks())
    return (await backend.files.receive(upload)).id


def _named(name: str, media_type: str) -> str:
    """Where the client gave no name, one with the ending that the type has."""
    return name or "file" + (mimetypes.guess_extension(media_type) or "")
