"""Bytes that no row knows are removed; rows that are being deleted are deleted to the end."""

import logging
from collections.abc import AsyncIterator
from hashlib import sha256

from turnlog.errors import TurnlogError
from turnlog.ports import Blobs, File, FileTable

_log = logging.getLogger(__name__)
ABANDONED = 3600.0  # seconds after which no other server is in the middle of an upload
AT_ONCE = 500  # rows
MOST_UNFINISHED = 8  # uploads that a killed server leaves where there are hardly any files


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
    """Runs when a server starts. `alone`: no other server can be in the middle of an upload, so
    what no row knows is left over, however young it is; but for what came in here meanwhile.
    """

    def __init__(self, table: FileTable, blobs: Blobs, *, alone: bool) -> None:
        self._table = table
        self._blobs = blobs
        self._alone = alone
        self._coming: set[str] | None = set()  # None: it is over

    def spare(self, place: str) -> None:
        """Bytes come in here; their row follows."""
        if self._coming is not None:
            self._coming.add(place)

    async def run(self) -> None:
        try:
            stored = []
            async for each in self._blobs.every():
                if self._alone or each.seconds > ABANDONED:
                    stored.append(each.place)
            await self._sweep(stored)
        except TurnlogError as error:
            _log.warning("files without an owner could not be removed: %s", error)
        finally:
            self._coming = None

    async def _sweep(self, stored: list[str]) -> None:
        known = set()
        async for file in every_file(self._table):
            if file.deleted:
                await self._blobs.delete(place_of(file))
                await self._table.forget(file.user_id, file.id)
            known.add(place_of(file))
        unknown = [place for place in stored if place not in known]
        if len(unknown) > max(MOST_UNFINISHED, len(known)):
            _log.error(
                "the storage of files holds %d that this database does not know, and %d that it"
                " does: nothing is removed there. Is it the place of another database?",
                len(unknown), len(known),
            )  # fmt: skip
            return
        for place in unknown:
            if place not in (self._coming or ()):
                _log.info("bytes of a file that was never finished are removed")
                await self._blobs.delete(place)
