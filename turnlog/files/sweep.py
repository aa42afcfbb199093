"""Bytes that no row knows are removed; rows that are being deleted are deleted to the end."""

import logging
import time
from collections.abc import AsyncIterator
from hashlib import sha256

from turnlog.errors import TurnlogError
from turnlog.ports import Blobs, File, FileTable

_log = logging.getLogger(__name__)
ABANDONED = 3600.0  # seconds after which no other server is in the middle of an upload
AT_ONCE = 500  # rows


def place_of(file: File) -> str:
    """Where its bytes are. A user's id may be anything, so it is hashed."""
    return f"{sha256(file.user_id.encode()).hexdigest()[:32]}/{file.sha256}"


async def every_file(table: FileTable) -> AsyncIterator[File]:
    after = ""
    while files := await table.every(limit=AT_ONCE, after=after):
        for file in files:
            yield file
        after = files[-1].id


class Sweep:
    """Runs when a server starts. `alone`: no other server can be in the middle of an upload."""

    def __init__(self, table: FileTable, blobs: Blobs, *, alone: bool) -> None:
        self._table = table
        self._blobs = blobs
        self._alone = alone

    async def run(self) -> None:
        opened = time.monotonic()
        try:
            stored = []
            async for each in self._blobs.every():
                ours = time.monotonic() - opened  # what is younger may be coming in here
                if each.seconds > (ours if self._alone else ABANDONED):
                    stored.append(each.place)
            await self._sweep(stored)
        except TurnlogError as error:
            _log.warning("files without an owner could not be removed: %s", error)

    async def _sweep(self, stored: list[str]) -> None:
        known = set()
        async for file in every_file(self._table):
            if file.deleted:
                await self._blobs.delete(place_of(file))
                await self._table.forget(file.user_id, file.id)
            known.add(place_of(file))
        for place in stored:
            if place not in known:
                _log.info("bytes of a file that was never finished are removed")
                await self._blobs.delete(place)
