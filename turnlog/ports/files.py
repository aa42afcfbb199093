"""Files that users attach: what is known of them, where their bytes are, and who keeps both."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from turnlog.errors import NotFound
from turnlog.events.base import Value
from turnlog.events.content import Block

MOST_FILES = 20  # of one message
FileKind = Literal["image", "pdf", "document"]
# As it came; the fitted image; the pages as text. Made when they are needed, and not kept: a larger
# image, pictures of the pages of a scan.
Part = Literal["original", "model", "text", "large", "pictures"]
OnProgress = Callable[[int, int], None]  # pages read so far, and of how many
Chunks = AsyncIterator[bytes]
# How a model is told of a file: as an image, a larger one, a PDF, text by the page, a PDF of
# pictures of its first pages, plain text, or by name.
Form = Literal["image", "large", "pdf", "pages", "pictures", "text", "name"]


BY_MODEL = "by model"  # an image that is larger than some models read, and not too large for others


class File(Value, frozen=True, kw_only=True):
    """One file of one user. Its bytes are in `Blobs`, under its user and its hash."""

    id: str
    user_id: str
    session_id: str  # where it was uploaded
    created_at: str
    name: str
    kind: FileKind
    media_type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    text_length: int | None = None  # characters
    model_type: str = ""  # of the part `model`, which is what a model is given of an image
    model_size: int = 0
    locked: bool = False  # encrypted, although it opens without a password
    metadata: dict[str, Any] = {}
    deleted: bool = False  # its bytes are being removed
    uses: int = 0  # turns that it came with
    last_used_at: str | None = None

    @property
    def dimensions(self) -> dict[str, int] | None:
        if self.width is None or self.height is None:
            return None
        return {"width": self.width, "height": self.height}

    @property
    def facts(self) -> dict[str, Any]:
        """What `user_message_sent` shows of it."""
        facts: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "mediaType": self.media_type,
            "size": self.size,
            "sha256": self.sha256,
            "pages": self.pages,
            "dimensions": self.dimensions,
        }
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def details(self) -> dict[str, Any]:
        """What the log keeps beside that: it decides how a model is told of the file."""
        return {
            "modelSize": self.model_size,
            "textLength": self.text_length or 0,
            "locked": self.locked,
        } | ({"byModel": True} if self.metadata.get("fitted") == BY_MODEL else {})


class FileTable(Protocol):
    """The rows of files. Every question names the user who asks, but for the audit's.

    Promises: a user has one row for one content; a row that is being deleted is found by nobody
    but `every`.
    """

    async def add(self, file: File, *, quota: int) -> File:
        """Keep it. Where the user has this content, its row gets the new name and facts, and
        keeps its id. Raises QuotaUsedUp where the user's files would be larger than `quota`
        bytes, and BeingDeleted while that content is being deleted.
        """
        ...

    async def get(self, user_id: str, file_id: str) -> File:
        """Raises NotFound for an unknown file and for someone else's alike."""
        ...

    async def get_all(self, user_id: str, file_ids: Sequence[str]) -> dict[str, File]:
        """Those of them that are the user's, in one step, by their ids."""
        ...

    async def find(self, user_id: str, sha256: str) -> File | None:
        """The user's file with this content."""
        ...

    async def page(self, user_id: str, *, limit: int, after: str | None = None) -> list[File]:
        """The user's files, newest first; those that come after the one with id `after`."""
        ...

    async def used(self, user_id: str) -> int:
        """How many bytes the user's files have."""
        ...

    async def note_use(self, user_id: str, file_ids: Sequence[str], at: str) -> None:
        """A turn came with these files. Those that are gone are left out."""
        ...

    async def mark_deleted(self, user_id: str, file_id: str) -> File:
        """From now on nobody finds it. Raises NotFound."""
        ...

    async def forget(self, user_id: str, file_id: str) -> None:
        """Remove the row of a deleted file."""
        ...

    async def every(self, *, limit: int, after: str = "") -> list[File]:
        """Everybody's, deleted ones too, by id: for the sweep and the audit."""
        ...


class Stored(NamedTuple):
    """What lies in `Blobs` for one content of one user."""

    place: str
    seconds: float  # since it was written
    parts: frozenset[str]


class Blobs(Protocol):
    """The bytes of files: under a place, which is a user and a hash, by the name of the part.

    Promises: a part is there as a whole or not at all, also when the process is killed.
    """

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    async def open(self) -> None:
        """Raises StoreUnusable."""
        ...

    async def close(self) -> None: ...

    def incoming(self) -> AbstractAsyncContextManager[Path]:
        """An empty folder on this machine for one upload. It is gone afterwards."""
        ...

    async def put(self, place: str, part: Part, file: Path) -> None:
        """Take the file over; what was there is replaced."""
        ...

    async def has(self, place: str, part: Part) -> bool: ...

    async def read(self, place: str, part: Part) -> bytes:
        """Raises NotFound."""
        ...

    def stream(self, place: str, part: Part, start: int = 0, end: int | None = None) -> Chunks:
        """The same in pieces; or its bytes from `start` up to `end`, which is exclusive. Raises
        NotFound before the first of them.
        """
        ...

    def local(self, place: str, part: Part) -> AbstractAsyncContextManager[Path]:
        """The part as a file on this machine, to read. Raises NotFound."""
        ...

    async def delete(self, place: str) -> None:
        """All parts. What is not there is deleted already."""
        ...

    def every(self) -> AsyncIterator[Stored]: ...


class Upload(NamedTuple):
    """A file on its way in."""

    user_id: str
    session_id: str
    kind: FileKind
    name: str  # as the client sent it
    chunks: Chunks
    on_progress: OnProgress = lambda done, of: None


class Page(NamedTuple):
    """One page of a file as text. Names as on the wire."""

    page: int
    text: str


class Told(NamedTuple):
    """A file in a message, and how a model is told of it."""

    message_id: str
    facts: dict[str, Any]  # as `user_message_sent` has them, with their details
    form: Form


class Attachments(Protocol):
    """A user's files as a turn sees them."""

    async def get(self, user_id: str, file_id: str) -> File:
        """Raises NotFound for an unknown file and for someone else's alike."""
        ...

    async def blocks(self, user_id: str, told: Sequence[Told]) -> list[list[Block]]:
        """Each file as content blocks of a prompt; a deleted one as a line that says so."""
        ...

    async def pages(self, user_id: str, file_id: str, wanted: Sequence[int]) -> list[Page]: ...


class _NoAttachments:
    """For turns without a library: nobody has a file."""

    async def get(self, user_id: str, file_id: str) -> File:
        raise NotFound(f"There is no file {file_id!r}.")

    async def blocks(self, user_id: str, told: Sequence[Told]) -> list[list[Block]]:
        if told:
            raise NotFound(f"There is no file {told[0].facts['id']!r}.")
        return []

    async def pages(self, user_id: str, file_id: str, wanted: Sequence[int]) -> list[Page]:
        raise NotFound(f"There is no file {file_id!r}.")


NO_ATTACHMENTS = _NoAttachments()


class Files(Protocol):
    """A user's files, as transports and turns see them."""

    async def receive(self, upload: Upload) -> File:
        """Keep an upload. Raises TooLarge, Unreadable, QuotaUsedUp, TooMany or NotFound."""
        ...

    async def get(self, user_id: str, file_id: str) -> File: ...

    async def page(self, user_id: str, *, limit: int, after: str | None = None) -> list[File]: ...

    async def delete(self, user_id: str, file_id: str) -> None: ...

    def content(self, file: File, start: int = 0, end: int | None = None) -> Chunks:
        """Its bytes from `start` up to `end`, which is exclusive. Raises NotFound; for the last
        bytes of a whole file, too, where they are not all what was uploaded.
        """
        ...

    async def thumbnail(self, file: File, *, page: int, width: int) -> bytes:
        """As PNG or JPEG. Raises BadInput for a page that is not there."""
        ...

    async def pages(self, user_id: str, file_id: str, wanted: Sequence[int]) -> list[Page]:
        """The text of these pages, from 1 on. Raises BadInput for one that is not there."""
        ...

    async def text(self, file: File) -> list[Page]:
        """All of them, however long they are. Raises BadInput for an image, which has none."""
        ...

    async def extract(self, file: File, wanted: Sequence[int]) -> bytes:
        """A PDF of these pages of a PDF."""
        ...
