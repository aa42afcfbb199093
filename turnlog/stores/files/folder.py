"""Files in a folder: `content/OW/OWNER/SHA256/part`. What comes in waits in `incoming/`.

A part is written elsewhere, synced, and renamed to its place: it is there as a whole or not at
all. What a killed process left in `incoming/` is removed by the next one that opens the folder
alone; see Library.sweep for the rest.
"""

import asyncio
import logging
import math
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from turnlog.errors import NotFound, NotStored, StoreUnusable
from turnlog.ports import Part, Stored
from turnlog.ports.files import Chunks

_log = logging.getLogger(__name__)
PIECE = 256 * 1024  # bytes that are read at once
ABANDONED = 3600.0  # seconds after which nobody works on what came in


class FolderBlobs:
    """Blobs under one folder. `alone`: no other process uses it."""

    def __init__(self, folder: Path | str, *, alone: bool = True) -> None:
        self._folder = Path(folder)
        self._incoming = self._folder / "incoming"
        self._content = self._folder / "content"
        self._alone = alone

    @property
    def url(self) -> str:
        return f"file:{self._folder}"

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        """Nothing is held."""

    def _open(self) -> None:
        try:
            for folder in (self._folder, self._incoming, self._content):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self._incoming.iterdir():
                if self._alone or time.time() - left.stat().st_mtime > ABANDONED:
                    shutil.rmtree(left, ignore_errors=True)
        except OSError as error:
            raise StoreUnusable(f"The folder for files, {str(self._folder)!r}: {error}.") from error

    @asynccontextmanager
    async def incoming(self) -> AsyncIterator[Path]:
        with storing():
            folder = tempfile.mkdtemp(dir=self._incoming)
        try:
            with storing():  # for whoever writes there
                yield Path(folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def put(self, place: str, part: Part, file: Path) -> None:
        await asyncio.to_thread(self._put, self._path(place, part), file)

    def _put(self, path: Path, file: Path) -> None:
        with storing():
            missing = [folder for folder in (path.parent, *path.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir(mode=0o700, exist_ok=True)
                _sync(folder.parent)
            _sync(file)
            file.chmod(0o600)
            file.replace(path)
            _sync(path.parent)

    async def has(self, place: str, part: Part) -> bool:
        return await asyncio.to_thread(self._path(place, part).exists)

    async def read(self, place: str, part: Part) -> bytes:
        with reading():
            return await asyncio.to_thread(self._path(place, part).read_bytes)

    async def stream(
        self, place: str, part: Part, start: int = 0, end: int | None = None
    ) -> Chunks:
        async with self.local(place, part) as path:
            with reading():
                file = await asyncio.to_thread(path.open, "rb")
            with file:
                file.seek(start)
                left = math.inf if end is None else end - start
                while piece := await _piece(file, int(min(PIECE, left))):
                    left -= len(piece)
                    yield piece

    @asynccontextmanager
    async def local(self, place: str, part: Part) -> AsyncIterator[Path]:
        path = self._path(place, part)
        if not await asyncio.to_thread(path.exists):
            raise gone()
        yield path

    async def delete(self, place: str) -> None:
        await asyncio.to_thread(self._delete, self._path(place, "original").parent)

    def _delete(self, folder: Path) -> None:
        with storing():
            if folder.exists():
                shutil.rmtree(folder)
                _sync(folder.parent)

    async def every(self) -> AsyncIterator[Stored]:
        for owners in await _folders(self._content):
            for owner in await _folders(owners):
                for folder in await _folders(owner):
                    parts = await _folders(folder)
                    age = time.time() - (await asyncio.to_thread(_changed_at, folder))
                    names = frozenset(part.name for part in parts)
                    yield Stored(f"{owner.name}/{folder.name}", age, names)

    def _path(self, place: str, part: Part) -> Path:
        return self._content / place[:2] / place / part


async def _piece(file: BinaryIO, size: int) -> bytes:
    with reading():
        return await asyncio.to_thread(file.read, size)


def _changed_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # it was deleted meanwhile
        return time.time()


async def _folders(folder: Path) -> list[Path]:
    """What is in it; nothing where there is no such folder, or not any more."""
    try:
        return await asyncio.to_thread(lambda: sorted(folder.iterdir()))
    except FileNotFoundError:
        return []


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class storing:
    """A full disk is no bug: who asks is told to try again."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            _log.error("files cannot be stored: %s", error.strerror)
            raise NotStored("The server cannot store files at the moment. Try again later.") from (
                error
            )


class reading:
    """A disk that fails is no bug either, and one file is not all of them."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise gone() from None
        if isinstance(error, OSError):
            raise NotStored(f"A file of the server cannot be read: {error.strerror}.") from error


def gone() -> NotFound:
    return NotFound("The content of this file is not there any more.")


class TemporaryBlobs(FolderBlobs):
    """A folder that is gone when it is closed: beside a store in memory."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()) / f"turnlog-{secrets.token_hex(8)}")

    async def close(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
