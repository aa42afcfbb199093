"""The default store: one SQLite file, in WAL mode, every commit on disk before it is answered.

One thread writes (see `writer`), readers work beside it. Several processes may open the same
file: each holds a lock on a file of its own, which the system releases when the process dies,
however it dies; that is how the turns of a dead process are recognized. A server takes one more
lock: two of them would not see each other's live events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar, cast

from turnlog.errors import StoreUnusable
from turnlog.events.base import Stamped
from turnlog.ports import Excerpt, Session, Turn
from turnlog.stores.sql.connection import NOT_OPEN, Connection
from turnlog.stores.sql.store import SqlStore
from turnlog.stores.sql.tables import log, sessions, turns
from turnlog.stores.sqlite.files import (
    UNUSABLE,
    SqliteConnection,
    connect,
    connect_reader,
    make_private,
    unusable,
)
from turnlog.stores.sqlite.health import damages
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.owners import SERVER_LOCK, Owners, ServerLock, alone
from turnlog.stores.sqlite.protections import missing_protections
from turnlog.stores.sqlite.readers import Readers
from turnlog.stores.sqlite.writer import Writer
from turnlog.telemetry.metrics import Metrics

T = TypeVar("T")


class _Unopened:
    """Writer and readers of a store that nobody has opened."""

    def __getattr__(self, name: str) -> NoReturn:
        raise StoreUnusable(NOT_OPEN)


class SqliteStore(SqlStore):
    """A Store in one file under `folder`."""

    def __init__(self, folder: Path | str, metrics: Metrics | None = None) -> None:
        self._folder = Path(folder)
        self._path = self._folder / "turnlog.db"
        self._metrics = metrics
        self._owners = Owners(self._folder / "owners")
        self._me = self._owners.me
        self._server = ServerLock(self._folder / SERVER_LOCK)
        self._writer = cast(Writer, _Unopened())
        self._readers = cast(Readers, _Unopened())

    @property
    def url(self) -> str:
        return f"sqlite:{self._folder}"

    async def open(self, *, server: str | None = None) -> None:
        """Make the file or bring it up to date; say to other processes that this one lives."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with alone(self._folder / "opening.lock"):
                if server is not None:
                    self._server.take(server)
                self._enter()
        except UNUSABLE as error:
            raise unusable(self._folder, error) from error
        self._writer = Writer(self._connect(), self._metrics)
        self._readers = Readers(self._connect_reader)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.close()
        self._owners.leave()
        self._server.release()

    # Not in a reader's thread: a turn waits for these, or somebody who wants to see the next
    # one from its start; and a look at an index is quicker.

    async def has_message(self, message_id: str) -> bool:
        return await self._look_here(partial(log.has_message, message_id=message_id))

    async def get_session(self, user_id: str, session_id: str) -> Session:
        find = partial(sessions.find, user_id=user_id, session_id=session_id)
        return await self._look_here(find)

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        near = await self._look_here(
            lambda db: turns.newest_nearby(db, user_id, session_id, log.FEW)
        )
        if near is None:
            return await super().newest_turn(user_id, session_id)
        return near[0] if near else None

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        place = (user_id, session_id, after, limit)
        few = await self._look_here(lambda db: log.read_few(db, *place))
        if few is None:  # too much to hold everybody up
            return await super().read(user_id, session_id, after=after, limit=limit)
        return few

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        few = await self._look_here(
            partial(
                log.few_of_excerpt,
                user_id=user_id,
                session_id=session_id,
                anchor=anchor,
                after=after,
            )
        )
        if few is None:
            return await super().excerpt(user_id, session_id, anchor=anchor, after=after)
        return few

    # inside

    async def _look_here(self, read: Callable[[Connection], T]) -> T:
        return self._writer.look(read, self._readers.run_here)

    async def _look(self, read: Callable[[Connection], T]) -> T:
        return await self._readers.run(read)

    def _change(self, work: Callable[[Connection], T]) -> Awaitable[T]:
        return self._writer.run(work)

    def _enter(self) -> None:
        """A server that cannot use the place after all leaves it to others."""
        try:
            make_private(self._path)
            with closing(self._connect()) as db:
                migrate(db)
            self._owners.enter()
        except BaseException:
            self._server.release()
            raise

    def _connect(self) -> SqliteConnection:
        return connect(self._path)

    def _connect_reader(self) -> SqliteConnection:
        return connect_reader(self._path)

    def _protections(self, db: Connection) -> Iterator[str]:
        yield from missing_protections(db)
        yield from damages(db)

    def _works(self, db: Connection, owners: Collection[str]) -> Collection[str]:
        return {owner for owner in owners if self._owners.lives(owner)}
