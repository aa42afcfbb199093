"""What a store on any SQL database reads of the log, also of what is in archives."""

import asyncio
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeVar

from turnlog.errors import ArchiveMissing, ContentLost
from turnlog.events.base import Stamped
from turnlog.events.rows.erasure import shown, what_is_left
from turnlog.events.rows.record import BareRecord, Record
from turnlog.ports import Excerpt
from turnlog.stores.sql.archives import SqlArchives, archives_of
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.tables import log

T = TypeVar("T")


class SqlReading:
    """The reading half of an EventLog."""

    @cached_property
    def archives(self) -> SqlArchives:
        raise NotImplementedError

    async def _look(self, read: Callable[[Connection], T]) -> T:
        """Carry out a step that changes nothing."""
        raise NotImplementedError

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        found = await self._found(lambda db: log.read(db, user_id, session_id, after, limit))
        return found.entries

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        place = (user_id, session_id, anchor, after)
        return await self._found(lambda db: log.excerpt(db, *place), what_is_left)

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[BareRecord]:
        place = (user_id, session_id, limit, before)
        bare = await self._look(lambda db: log.tail(db, *place))
        if all(row.body for row in bare):
            return bare
        for _ in range(2):
            rows = await self._look(lambda db: log.tail_of_records(db, *place))
            if any(row.is_archived for row in rows):
                rows = await self.archives.filled(rows)
            if not any(row.is_archived for row in rows):
                return [row.bare for row in rows]
        raise await self._missing(rows)

    async def last_number(self, user_id: str, session_id: str) -> int:
        return await self._look(lambda db: log.last_number(db, user_id, session_id))

    async def recall(self, session_id: str, seq: int) -> Stamped:
        found = await self._found(lambda db: log.recall(db, session_id, seq))
        return found.entries[0]

    async def has_message(self, message_id: str) -> bool:
        return await self._look(lambda db: log.has_message(db, message_id))

    async def _found(
        self,
        read: Callable[[Connection], log.Found],
        entries: Callable[[Iterable[Record]], list[Stamped]] = lambda rows: [*map(shown, rows)],
    ) -> Excerpt:
        """What is read, also from archives. One that is restored meanwhile is in the log again."""
        for _ in range(2):
            found = await self._look(read)
            if not found.rows:
                return Excerpt(found.entries, found.emptied, found.before)
            rows = await self.archives.filled(found.rows)
            if not any(row.is_archived for row in rows):
                filled = await asyncio.to_thread(entries, rows)
                return Excerpt(filled, found.emptied, found.before)
        raise await self._missing(rows)

    async def _missing(self, rows: Iterable[Record]) -> ArchiveMissing:
        """Why some rows of one session have no content."""
        needy = [row for row in rows if row.is_archived]
        session_id = needy[0].session_id
        archives = await self._look(lambda db: archives_of(db, session_id))
        for row in needy:
            if not any(archive.has(row) for archive in archives):
                return ContentLost(session_id, row.seq)
        return ArchiveMissing(session_id)
