"""A user's files: received, read, kept, given out and deleted.

An upload is visible when its row is there, and the row is written last. Whatever dies before that
leaves bytes that nobody sees, and the sweep removes them.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import msgspec

from turnlog.errors import BadInput, BeingDeleted, QuotaUsedUp, TooLarge, TooMany, Unreadable
from turnlog.events.clock import now
from turnlog.files.examination import MADE, unchanged
from turnlog.files.formats import FORMATS, HEAD, media_type, recognize, safe_name
from turnlog.files.inspection import Inspection
from turnlog.files.pictures import Pictures
from turnlog.files.sweep import Sweep, place_of
from turnlog.files.workers import Workers
from turnlog.ports import Blobs, File, FileTable, Page, Upload
from turnlog.ports.files import Chunks, FileKind, Part

_log = logging.getLogger(__name__)
PIECE = 1024 * 1024  # bytes that are written at once
AT_ONCE = 4  # uploads of one user
MOST_TEXT = 1_000_000  # characters that are given out at once


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """What one file, and all files of one user, may take up."""

    image_bytes: int = 10_000_000
    pdf_bytes: int = 50_000_000
    document_bytes: int = 10_000_000
    pdf_pages: int = 10_000
    image_side: int = 0  # pixels of what a model is given of an image; 0: by the model
    quota: int = 1_000_000_000  # bytes of one user

    def of(self, kind: FileKind) -> int:
        return {
            "image": self.image_bytes,
            "pdf": self.pdf_bytes,
            "document": self.document_bytes,
        }[kind]


class FileLibrary:
    """Files of all users, on a table, a place for bytes and processes that read."""

    def __init__(
        self, table: FileTable, blobs: Blobs, workers: Workers, limits: FileLimits, *, alone: bool
    ) -> None:
        """`alone`: no other server uses the same place."""
        self._table = table
        self.blobs = blobs
        self._workers = workers
        self._limits = limits
        self._inspection = Inspection(workers, limits.image_side, limits.pdf_pages)
        self.pictures = Pictures(blobs, workers)
        self._sweep = Sweep(table, blobs, alone=alone)
        self._sweeping: asyncio.Task[None] | None = None
        self._uploads: Counter[str] = Counter()
        self.on_deleted: Callable[[], None] = lambda: None

    async def __aenter__(self) -> None:
        await self.blobs.open()
        self._sweeping = asyncio.create_task(self._sweep.run())

    async def __aexit__(self, *exc: object) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self._workers.close()
        await self.blobs.close()

    async def swept(self) -> None:
        """Wait until what a dead process left behind is gone."""
        if self._sweeping is not None:
            await asyncio.wait([self._sweeping])

    # in

    async def receive(self, upload: Upload) -> File:
        await self._check_quota(upload.user_id, 1)
        with self._one_more(upload.user_id):
            async with self.blobs.incoming() as folder:
                spooled = await _spool(upload, folder / "original", self._limits.of(upload.kind))
                return await self._keep(upload, spooled, folder)

    async def ids(self, user_id: str, session_id: str, files: Sequence[str | Path]) -> list[str]:
        """The ids of files that are named by id, or by a path, which is added. Raises NotFound."""
        return [
            (
                await self.add(user_id, session_id, file)
                if isinstance(file, Path)
                else await self.get(user_id, file)
            ).id
            for file in files
        ]

    async def add(self, user_id: str, session_id: str, path: Path) -> File:
        """A file of this machine, whatever kind it is. Raises what `receive` raises."""
        with await asyncio.to_thread(path.open, "rb") as file:
            media = media_type(file.read(HEAD), path.name)
            if media is None:
                raise Unreadable(f"{path.name!r} is no file of a kind that is taken.")
            file.seek(0)
            kind = FORMATS[media].kind
            return await self.receive(Upload(user_id, session_id, kind, path.name, _pieces(file)))

    async def _keep(self, upload: Upload, spooled: "_Spooled", folder: Path) -> File:
        name = safe_name(upload.name, spooled.media_type)
        before = await self._table.find(upload.user_id, spooled.sha256)
        if before is not None and before.media_type == spooled.media_type:
            renamed = msgspec.structs.replace(before, name=name)
            if await self.blobs.has(place_of(before), "original"):
                return await self._whole(await self._table.add(renamed, quota=self._limits.quota))
        await self._check_quota(upload.user_id, spooled.size)  # before it is read
        facts = await self._inspection.inspect(
            spooled.media_type, folder / "original", folder, upload.on_progress
        )
        file = File(
            id=str(uuid4()),
            user_id=upload.user_id,
            session_id=upload.session_id,
            created_at=now(),
            name=name,
            kind=upload.kind,
            media_type=spooled.media_type,
            size=spooled.size,
            sha256=spooled.sha256,
            **facts,
        )
        await self._put(file, folder)
        return await self._whole(await self._add(file))

    async def _whole(self, added: File) -> File:
        """The file, once it has a row. Raises BadInput where the same content was deleted before
        that: from here on nobody deletes bytes without their row, so once more is enough.
        """
        parts: tuple[Part, ...] = ("original", MADE[added.kind])
        if not all([await self.blobs.has(place_of(added), part) for part in parts]):
            await self.delete(added.user_id, added.id)
            raise BadInput("This file was deleted while it came in. Send it again.")
        return added

    async def _add(self, file: File) -> File:
        """Its row. Where that is refused, its bytes go, too."""
        try:
            return await self._table.add(file, quota=self._limits.quota)
        except (QuotaUsedUp, BeingDeleted):
            if await self._table.find(file.user_id, file.sha256) is None:
                await self.blobs.delete(place_of(file))
            raise

    async def _put(self, file: File, folder: Path) -> None:
        """The original last: where it is, the others are."""
        self._sweep.spare(place_of(file))
        parts: tuple[Part, ...] = ("model", "text", "original")
        for part in parts:
            if (folder / part).exists():
                await self.blobs.put(place_of(file), part, folder / part)

    async def _check_quota(self, user_id: str, size: int) -> None:
        used, quota = await self._table.used(user_id), self._limits.quota
        if used + size > quota:
            raise QuotaUsedUp(used, size, quota)

    @contextmanager
    def _one_more(self, user_id: str) -> Iterator[None]:
        if self._uploads[user_id] >= AT_ONCE:
            raise TooMany(f"You are sending {AT_ONCE} files already. Wait for one to arrive.", 2)
        self._uploads[user_id] += 1
        try:
            yield
        finally:
            self._uploads[user_id] -= 1
            if not self._uploads[user_id]:
                del self._uploads[user_id]

    # out

    async def get(self, user_id: str, file_id: str) -> File:
        return await self._table.get(user_id, file_id)

    async def get_all(self, user_id: str, file_ids: Sequence[str]) -> dict[str, File]:
        return await self._table.get_all(user_id, file_ids)

    async def page(self, user_id: str, *, limit: int, after: str | None = None) -> list[File]:
        return await self._table.page(user_id, limit=limit, after=after)

    def content(self, file: File, start: int = 0, end: int | None = None) -> Chunks:
        chunks = self.blobs.stream(place_of(file), "original", start, end)
        is_whole = start == 0 and end in (None, file.size)
        return unchanged(file, chunks) if is_whole else chunks

    async def part(self, file: File, part: Part) -> bytes:
        """The bytes of one part. Raises NotFound where an original is not what was uploaded."""
        if part == "original":
            return b"".join([chunk async for chunk in self.content(file)])
        return await self.blobs.read(place_of(file), part)

    async def thumbnail(self, file: File, *, page: int, width: int) -> bytes:
        check_pages([page], file.pages or 1)
        if file.kind == "document":
            raise BadInput("There are thumbnails of images and PDFs only.")
        async with self.pictures.job(file) as (original, folder):
            of_page = {"page": page} if file.kind == "pdf" else {}
            job = f"{file.kind}_thumbnail"
            await self._workers.run(job, path=original, into=folder, width=width, **of_page)
            return await asyncio.to_thread((folder / "thumbnail").read_bytes)

    async def pages(self, user_id: str, file_id: str, wanted: Sequence[int]) -> list[Page]:
        file = await self.get(user_id, file_id)
        _refuse_image(file)
        check_pages(wanted, file.pages or 1)
        async with self.blobs.local(place_of(file), "text") as path:
            return await asyncio.to_thread(_read_pages, path, wanted)

    async def text(self, file: File) -> list[Page]:
        _refuse_image(file)
        return await self.first_pages(file, file.text_length or 0)

    async def first_pages(self, file: File, most: int) -> list[Page]:
        """The pages from the first on, as many as have `most` characters together."""
        async with self.blobs.local(place_of(file), "text") as path:
            return await asyncio.to_thread(_first_pages, path, most)

    async def extract(self, file: File, wanted: Sequence[int]) -> bytes:
        if file.kind != "pdf":
            raise BadInput("Only a PDF has pages that can be taken out.")
        check_pages(wanted, file.pages or 1)
        async with self.pictures.job(file) as (original, folder):
            await self._workers.run("pdf_extract", path=original, into=folder, pages=list(wanted))
            return await asyncio.to_thread((folder / "pages.pdf").read_bytes)

    async def delete(self, user_id: str, file_id: str) -> None:
        """Gone for everybody at once; a crash in between leaves the rest to the sweep."""
        file = await self._table.mark_deleted(user_id, file_id)
        await self.blobs.delete(place_of(file))
        await self._table.forget(user_id, file_id)
        self.on_deleted()


def _refuse_image(file: File) -> None:
    if file.kind == "image":
        raise BadInput("An image has no text.")


def check_pages(wanted: Sequence[int], pages: int) -> None:
    for page in wanted:
        if not 1 <= page <= pages:
            last = f"pages 1 to {pages}" if pages > 1 else "page 1 only"
            raise BadInput(f"There is no page {page}: the file has {last}.")


def _read_pages(path: Path, wanted: Sequence[int]) -> list[Page]:
    """Line by line, up to the last one wanted."""
    pages: dict[int, str] = {}
    left, room = set(wanted), MOST_TEXT
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if number in left:
                text = msgspec.json.decode(line, type=str)
                room -= len(text)
                if room < 0 and pages:
                    raise TooLarge(f"Pages 1 to {number - 1} are as many as are given out at once.")
                pages[number] = text
                left.discard(number)
            if not left:
                break
    return [Page(number, pages[number]) for number in wanted if number in pages]


def _first_pages(path: Path, most: int) -> list[Page]:
    pages: list[Page] = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            text = msgspec.json.decode(line, type=str)
            most -= len(text)
            if most < 0 and pages:
                break
            pages.append(Page(number, text))
    return pages


class _Spooled(msgspec.Struct, frozen=True):
    media_type: str
    size: int
    sha256: str


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece


async def _spool(upload: Upload, path: Path, most: int) -> _Spooled:
    """To disk, hashed and counted while it comes. The first bytes say whether it is taken."""
    digest, size, found = sha256(), 0, None
    waiting = bytearray()
    with path.open("xb") as file:

        def write(piece: bytes) -> None:
            digest.update(piece)
            file.write(piece)

        async for chunk in upload.chunks:
            waiting += chunk
            size += len(chunk)
            if size > most:
                raise _too_large(bytes(waiting), upload, most)
            if found is None and len(waiting) >= HEAD:
                found = recognize(bytes(waiting[:HEAD]), upload.name, upload.kind)
            if len(waiting) >= PIECE:
                await asyncio.to_thread(write, bytes(waiting))
                waiting.clear()
        if not size:
            raise Unreadable("The file is empty.")
        found = found or recognize(bytes(waiting[:HEAD]), upload.name, upload.kind)
        await asyncio.to_thread(write, bytes(waiting))
    return _Spooled(found, size, digest.hexdigest())


def _too_large(head: bytes, upload: Upload, most: int) -> TooLarge:
    found = media_type(head, upload.name)
    what = FORMATS[found].words if found and size_is_known(found, upload.kind) else "the file"
    return TooLarge(f"This is too large: {what} may have {most} bytes.")


def size_is_known(found: str, kind: FileKind) -> bool:
    return FORMATS[found].kind == kind
