"""The default store: one SQLite file, in WAL mode, every commit on disk before it is answered.

One thread writes (see `writer`), readers work beside it. Several processes may open the same
file: each holds a lock on a file of its own, which the system releases when the process dies,
however it dies; that is how the turns of a dead process are recognized. A server takes one more
lock: two of them would not see each other's live events.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from turnlog.errors import StoreUnusable
from turnlog.events.base import Envelope, Stamped
from turnlog.ports import (
    Approval,
    Charge,
    Evidence,
    Session,
    Spent,
    Ticket,
    ToolRun,
    ToolStarted,
    Turn,
)
from turnlog.stores.sqlite import approvals as permits
from turnlog.stores.sqlite import billing, log, sessions, tickets, turns
from turnlog.stores.sqlite.files import connect, connect_reader, make_private
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.owners import Owners, ServerLock, alone
from turnlog.stores.sqlite.readers import Readers
from turnlog.stores.sqlite.writer import Writer
from turnlog.telemetry.metrics import Metrics

T = TypeVar("T")


class SqliteStore:
    """A Store in one file under `folder`."""

    def __init__(self, folder: Path | str, metrics: Metrics | None = None) -> None:
        self._folder = Path(folder)
        self._path = self._folder / "turnlog.db"
        self._metrics = metrics
        self._owners = Owners(self._folder / "owners")
        self._server = ServerLock(self._folder / "server.lock")

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
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreUnusable(f"The database in {str(self._folder)!r}: {error}.") from error
        self._writer = Writer(self._connect(), self._metrics)
        self._readers = Readers(self._connect_reader)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.close()
        self._owners.leave()
        self._server.release()

    # the log

    async def append(self, turn: Turn, events: Sequence[Envelope]) -> int:
        return await self._change(lambda db: log.append(db, turn, events))

    async def annotate(self, turn: Turn, events: Sequence[Envelope]) -> int:
        return await self._change(lambda db: log.annotate(db, turn, events))

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        return await self._look(lambda db: log.read(db, user_id, session_id, after, limit))

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[Stamped]:
        return await self._look(lambda db: log.tail(db, user_id, session_id, limit, before))

    async def has_message(self, message_id: str) -> bool:
        # Not in a reader's thread: an answer waits for it, and one look at an index is quicker.
        return self._readers.run_here(lambda db: log.has_message(db, message_id))

    # sessions

    async def create_session(self, session: Session) -> None:
        await self._change(lambda db: sessions.create(db, session))

    async def get_session(self, user_id: str, session_id: str) -> Session:
        return await self._look(lambda db: sessions.find(db, user_id, session_id))

    async def list_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        after: str | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        asked = (user_id, limit, after, archived, search)
        return await self._look(lambda db: sessions.page(db, *asked))

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        return await self._change(lambda db: sessions.change(db, user_id, session_id, changes))

    async def name_session(self, user_id: str, session_id: str, title: str) -> None:
        await self._change(lambda db: sessions.name(db, user_id, session_id, title))

    # tickets

    async def issue_ticket(self, ticket: Ticket, *, at_once: int) -> None:
        await self._change(lambda db: tickets.issue(db, ticket, at_once))

    async def take_ticket(self, digest: str) -> Ticket | None:
        return await self._change(lambda db: tickets.take(db, digest))

    # turns

    async def begin_turn(self, turn: Turn, first: Sequence[Envelope]) -> Turn:
        me = self._owners.me
        return await self._change(lambda db: log.begin_turn(db, turn, first, me))

    async def save_draft(self, turn: Turn, draft: bytes) -> None:
        await self._change(lambda db: turns.change(db, turn, draft=draft))

    async def finish_turn(self, turn: Turn) -> None:
        await self._change(lambda db: turns.change(db, turn, state="done", draft=None))

    async def suspend_turn(self, turn: Turn) -> None:
        await self._change(lambda db: turns.change(db, turn, state="waiting", draft=None))

    async def start_tools(self, turn: Turn, starting: Sequence[ToolStarted]) -> None:
        await self._change(lambda db: turns.start_tools(db, turn, starting))

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        return await self._look(lambda db: turns.newest(db, user_id, session_id))

    async def started_tools(self, turn: Turn) -> set[str]:
        return await self._look(lambda db: turns.started_tools(db, turn))

    async def claim_waiting(self, user_id: str, session_id: str) -> Turn | None:
        me = self._owners.me
        return await self._change(lambda db: turns.claim_waiting(db, user_id, session_id, me))

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        """Looked for without a write, because it is often asked and there is seldom one."""
        abandoned = partial(self._abandoned, session_id=session_id, working_on=working_on)
        if not await self._look(abandoned):
            return []
        return await self._change(lambda db: turns.claim(db, abandoned(db), self._owners.me))

    # what people must decide

    async def get_approval(self, user_id: str, approval_id: str) -> Approval:
        return await self._look(lambda db: permits.approval(db, user_id, approval_id))

    async def list_approvals(
        self, user_id: str, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return await self._look(lambda db: permits.approvals(db, user_id, status, limit))

    async def due_approvals(self, now: str) -> list[tuple[str, Approval]]:
        return await self._look(lambda db: permits.due(db, now))

    async def next_expiry(self) -> str | None:
        return await self._look(permits.next_expiry)

    async def list_doubts(self, user_id: str) -> list[ToolRun]:
        return await self._look(lambda db: permits.doubts(db, user_id))

    # the audit

    async def session_ids(self) -> list[str]:
        return await self._look(sessions.every_id)

    async def evidence(self, session_id: str) -> Evidence:
        return await self._look(lambda db: log.evidence(db, session_id))

    # bills and budgets

    async def charges(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> Sequence[Charge]:
        bounds = {"user_id": user_id, "session_id": session_id, "start": start, "end": end}
        return await self._look(lambda db: billing.charges(db, **bounds))

    async def spent(
        self, user_id: str, *, session_id: str | None = None, start: str | None = None
    ) -> Spent:
        bounds = {"user_id": user_id, "session_id": session_id, "start": start}
        return await self._look(lambda db: billing.spent(db, **bounds))

    async def count_messages(self, user_id: str, session_id: str) -> int:
        await self.get_session(user_id, session_id)
        return await self._look(lambda db: billing.count_messages(db, session_id))

    # inside

    async def _look(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await self._readers.run(read)

    async def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._writer.run(work)

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

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path)

    def _connect_reader(self) -> sqlite3.Connection:
        return connect_reader(self._path)

    def _abandoned(
        self, db: sqlite3.Connection, session_id: str | None, working_on: Collection[str]
    ) -> Iterable[Turn]:
        owned = turns.running(db, session_id, working_on)
        others = {owner for owner in {owner for owner, _ in owned} if self._works(owner)}
        return [turn for owner, turn in owned if owner not in others]

    def _works(self, owner: str) -> bool:
        """Whether that is another process, and it lives."""
        return owner != self._owners.me and self._owners.lives(owner)
