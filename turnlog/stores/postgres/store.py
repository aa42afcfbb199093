"""A store for many nodes: PostgreSQL, every commit on disk before it is answered.

A change of a session takes the lock with its id first, so that changes of one session come one
after the other, on whichever nodes. All of it is one transaction.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from turnlog.errors import NotFound, StoreUnusable, TooMany
from turnlog.events.base import Envelope
from turnlog.events.clock import in_seconds
from turnlog.events.kinds import UserMessageSent
from turnlog.ports import SharedWrites, Turn
from turnlog.stores.postgres.changes import Admission
from turnlog.stores.postgres.migrations import (
    alone,
    migrate,
    migrations,
    refuse_foreign,
    refuse_newer,
)
from turnlog.stores.postgres.nodes import Nodes
from turnlog.stores.postgres.pool import Pool
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.postgres.writers import Writers
from turnlog.stores.postgres.writes import PostgresWrites
from turnlog.stores.sql.connection import NOT_OPEN, Connection
from turnlog.stores.sql.store import SqlStore
from turnlog.stores.sql.tables import log
from turnlog.telemetry.metrics import Metrics

T = TypeVar("T")


_TRIGGER = re.compile(r"^CREATE TRIGGER (\w+)", re.MULTILINE)


class PostgresStore(SqlStore):
    """A Store in the database that the URL names."""

    def __init__(
        self, url: str, metrics: Metrics | None = None, *, read_only: bool = False
    ) -> None:
        self._url = url
        self._metrics = metrics or Metrics()
        self._read_only = read_only
        self._nodes = Nodes()
        self._me = self._nodes.me
        self._readers = Pool(url, writes=False)
        self._writers = Pool(url, writes=True)
        self._turn_writers = Writers(self._writers, self._metrics)
        self._changes: set[asyncio.Task[Any]] = set()
        self._closing = False  # nothing more is accepted
        self._shared_writes = PostgresWrites(self._writers)
        self._most: tuple[int, int] | None = None
        self._most_with_files: int | None = None

    @property
    def url(self) -> str:
        parts = urlsplit(self._url)
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, place, parts.path, "", ""))

    @property
    def secret_url(self) -> str:
        """The same with its password, for what connects beside it."""
        return self._url

    async def open(self, *, server: str | None = None) -> None:
        """Make the tables or bring them up to date; say to other nodes that this one lives."""
        if self._read_only and server is not None:
            raise StoreUnusable("A store that is opened for reading only runs no turns.")
        self._closing = False
        try:
            await self._prepare()
            await self._readers.open()
            if not self._read_only:
                await self._writers.open()
                await self._nodes.enter(self._writers, server or "")
                self._metrics.store_queue.ask(lambda: len(self._changes) + len(self._turn_writers))
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self.close()
            why = str(error) or type(error).__name__
            raise StoreUnusable(f"The database at {self.url!r}: {why}.") from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what was given; take no more."""
        self._closing = True
        await self._turn_writers.close()
        if self._changes:
            await asyncio.wait(self._changes)
        if self._writers.is_open:
            await self._nodes.leave(self._writers)
        await self._writers.close()
        await self._readers.close()

    def use_writers(self, count: int) -> None:
        """So many write what turns do. To be said before the store is opened."""
        self._turn_writers = Writers(self._writers, self._metrics, count)

    # limits, over all nodes

    @property
    def shared_writes(self) -> SharedWrites:
        """What users may still write."""
        return self._shared_writes

    def limit(
        self, turns_at_once: int, messages_a_minute: int, with_files: int | None = None
    ) -> None:
        """What one user may do; nodes count together. `with_files`: such messages a minute."""
        self._most = (turns_at_once, messages_a_minute)
        self._most_with_files = with_files

    async def begin_turn(self, turn: Turn, first: Sequence[Envelope], title: str = "") -> Turn:
        step = partial(self._admitted, turn=turn, first=first, title=title)
        if self._most_with_files is not None and any(_has_files(each) for each in first):
            return await self._change(step)
        self._refuse_unwritable()
        me, seals = self._me, self.seals
        opened = partial(log.open_turn, turn=turn, first=first, title=title, owner=me, seals=seals)
        running, begun = self._most or (None, None)
        admission = Admission(running, begun, since=in_seconds(-60), until=in_seconds(60))
        writers = self._turn_writers
        return await writers.begin(turn.user_id, turn.session_id, step, opened, admission)

    def _admitted(self, db: Connection, turn: Turn, first: Sequence[Envelope], title: str) -> Turn:
        """The turn, unless it is one too many: then nothing of it stays."""
        db.lock(f"turns of {turn.user_id}")
        begun = log.begin_turn(db, turn, first, title, self._me, self.seals)
        bounds = {"user_id": turn.user_id, "since": in_seconds(-60), "until": in_seconds(60)}
        running, sent = db.execute(SQL["count_turns"], bounds).fetchone()
        if self._most and running > self._most[0]:
            raise TooMany(f"You have {self._most[0]} turns running. Wait for one.", 5)
        if self._most and sent > self._most[1]:
            raise TooMany(f"More than {self._most[1]} messages in a minute.", 60)
        if self._most_with_files is not None and any(_has_files(each) for each in first):
            (with_files,) = db.execute(SQL["count_turns_with_files"], bounds).fetchone()
            if with_files > self._most_with_files:
                most = self._most_with_files
                raise TooMany(f"More than {most} messages with files in a minute.", 60)
        return begun

    # for what is kept beside the log

    async def make_tables(self, sql: str) -> None:
        """Run this, one process at a time. It must be safe to run again."""
        async with self._writers.connection() as db:
            await alone(db, lambda: db.execute(sql))

    async def look(self, read: Callable[[Connection], T]) -> T:
        return await self._look(read)

    async def change(self, work: Callable[[Connection], T]) -> T:
        return await self._change(work)

    # inside

    async def _prepare(self) -> None:
        db = await asyncpg.connect(self._url, timeout=10.0)
        try:
            if not self._read_only:
                await migrate(db)
                await refuse_foreign(db)
                return
            newest = await refuse_newer(db)
            if newest == 0:
                raise NotFound(f"There is no turnlog database at {self.url!r}.")
            if newest < migrations()[-1].number:
                raise StoreUnusable(
                    "An older version of turnlog has written this database. Run `turnlog migrate`."
                )
        finally:
            await db.close()

    async def _look(self, read: Callable[[Connection], T]) -> T:
        return await self._readers.look(read)

    async def _change(self, work: Callable[[Connection], T]) -> T:
        """A caller that is cancelled stops waiting; the change is carried out all the same."""
        self._refuse_unwritable()
        change = asyncio.create_task(self._counted(work))
        self._changes.add(change)
        change.add_done_callback(self._changes.discard)
        return await asyncio.shield(change)

    async def _change_turn(self, turn: Turn, work: Callable[[Connection], T]) -> T:
        self._refuse_unwritable()
        return await self._turn_writers.change(turn.session_id, work)

    def _refuse_unwritable(self) -> None:
        if self._read_only:
            raise StoreUnusable("This store is opened for reading only.")
        if self._closing or not self._writers.is_open:
            raise StoreUnusable(NOT_OPEN)

    async def _counted(self, work: Callable[[Connection], T]) -> T:
        try:
            result = await self._writers.change(work)
        except Exception:
            self._metrics.store_commits.add(1, "failed")
            raise
        self._metrics.store_commits.add(1, "success")
        return result

    def _protections(self, db: Connection) -> Iterator[str]:
        found = {row[0] for row in db.execute(SQL["list_protections"])}
        made = [name for change in migrations() for name in _TRIGGER.findall(change.sql)]
        for name in made:
            if name not in found:
                yield f"the protection {name!r} of the database is missing"

    def _works(self, db: Connection, owners: Collection[str]) -> Collection[str]:
        return self._nodes.living(db) & set(owners)


def _has_files(envelope: Envelope) -> bool:
    return isinstance(envelope.event, UserMessageSent) and bool(envelope.event.files)
