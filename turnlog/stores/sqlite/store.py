"""The default store: one SQLite file, in WAL mode, every commit on disk before it is answered.

One thread writes (see `sqlite_writer`), readers work beside it. Several processes may open
the same file: each holds a lock on a file of its own, which the system releases when the
process dies, however it dies; that is how the turns of a dead process are recognized.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turnlog.errors import StoreUnusable
from turnlog.events.base import Placed, Stamped
from turnlog.ports import (
    Approval,
    Charge,
    Evidence,
    Session,
    Spent,
    Task,
    ToolRun,
    ToolStarted,
    Turn,
)
from turnlog.stores.sqlite import approvals as permits
from turnlog.stores.sqlite import billing, rows, tasks
from turnlog.stores.sqlite.migrate import migrate
from turnlog.stores.sqlite.owners import Owners, alone
from turnlog.stores.sqlite.writer import Writer
from turnlog.telemetry.metrics import metrics_of

T = TypeVar("T")


class SqliteStore:
    """A Store in one file under `folder`."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._owners = Owners(self._folder / "owners")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    async def open(self) -> None:
        """Make the file or bring it up to date; say to other processes that this one lives."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with alone(self._folder / "opening.lock"), closing(self._connect()) as db:
                migrate(db)
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreUnusable(f"The database in {str(self._folder)!r}: {error}.") from error
        self._owners.enter()
        self._writer = Writer(self._connect(), metrics_of(self))
        self._readers = ThreadPoolExecutor(2, "turnlog-reader")

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()
        self._owners.leave()

    # the log

    async def append(self, turn: Turn, events: Sequence[Placed]) -> int:
        me = self._owners.me
        return await self._writer.run(lambda db: rows.append(db, turn, events, me))

    async def annotate(self, turn: Turn, events: Sequence[Placed]) -> int:
        return await self._writer.run(lambda db: rows.annotate(db, turn, events))

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        return await self._look(lambda db: rows.read(db, user_id, session_id, after, limit))

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[Stamped]:
        return await self._look(lambda db: rows.tail(db, user_id, session_id, limit, before))

    # sessions

    async def create_session(self, session: Session) -> None:
        values = msgspec.structs.astuple(session)
        sql = f"INSERT INTO sessions ({rows.SESSION}) VALUES ({', '.join('?' * len(values))})"
        await self._writer.run(lambda db: db.execute(sql, values).rowcount)

    async def get_session(self, user_id: str, session_id: str) -> Session:
        return await self._look(lambda db: rows.session(db, user_id, session_id))

    async def list_sessions(
        self, user_id: str, *, limit: int, after: str | None = None, archived: bool = False
    ) -> list[Session]:
        return await self._look(lambda db: rows.sessions(db, user_id, limit, after, archived))

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        return await self._writer.run(
            lambda db: rows.update_session(db, user_id, session_id, changes)
        )

    # turns

    async def begin_turn(self, turn: Turn, first: Sequence[Placed]) -> Turn:
        me = self._owners.me
        return await self._writer.run(lambda db: rows.begin(db, turn, first, me))

    async def save_draft(self, turn_id: str, draft: bytes) -> None:
        sql = "UPDATE turns SET draft = ? WHERE id = ? AND state = 'running'"
        await self._writer.run(lambda db: db.execute(sql, (draft, turn_id)).rowcount)

    async def finish_turn(self, turn_id: str) -> None:
        sql = "UPDATE turns SET state = 'done', draft = NULL WHERE id = ? AND state = 'running'"
        await self._writer.run(lambda db: db.execute(sql, (turn_id,)).rowcount)

    async def start_tools(self, turn: Turn, starting: Sequence[ToolStarted]) -> None:
        me = self._owners.me
        await self._writer.run(lambda db: rows.start_tools(db, turn, starting, me))

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        return await self._look(lambda db: rows.newest_turn(db, user_id, session_id))

    async def started_tools(self, turn: Turn) -> set[str]:
        return await self._look(lambda db: rows.started_tools(db, turn))

    async def pause_turn(self, turn_id: str) -> None:
        sql = "UPDATE turns SET state = 'waiting', draft = NULL WHERE id = ? AND state = 'running'"
        await self._writer.run(lambda db: db.execute(sql, (turn_id,)).rowcount)

    async def claim_waiting(self, user_id: str, session_id: str) -> Turn | None:
        me = self._owners.me
        return await self._writer.run(lambda db: rows.claim_waiting(db, user_id, session_id, me))

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        return await self._writer.run(
            partial(self._claim, session_id=session_id, working_on=working_on)
        )

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
        sql = "SELECT id FROM sessions ORDER BY created_at, id"
        return await self._look(lambda db: [row[0] for row in db.execute(sql)])

    async def evidence(self, session_id: str) -> Evidence:
        return await self._look(lambda db: rows.evidence(db, session_id))

    # tasks

    async def add_task(
        self, user_id: str, *, title: str, description: str, at: str, key: str | None = None
    ) -> Task:
        return await self._writer.run(
            lambda db: tasks.add(db, user_id, title, description, at, key)
        )

    async def list_tasks(self, user_id: str, *, completed: bool | None = None) -> list[Task]:
        return await self._look(lambda db: tasks.all_of(db, user_id, completed))

    async def update_task(self, user_id: str, task_id: int, **changes: Any) -> Task:
        return await self._writer.run(lambda db: tasks.update(db, user_id, task_id, changes))

    async def delete_task(self, user_id: str, task_id: int) -> Task:
        return await self._writer.run(lambda db: tasks.delete(db, user_id, task_id))

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

    def _connect(self) -> sqlite3.Connection:
        path = self._folder / "turnlog.db"
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        return db

    async def _look(self, read: Callable[[sqlite3.Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, lambda: read(self._reader()))

    def _reader(self) -> sqlite3.Connection:
        if not hasattr(self._local, "db"):
            self._local.db = self._connect()
            self._local.db.execute("PRAGMA query_only = ON")
            self._connections.append(self._local.db)
        db: sqlite3.Connection = self._local.db
        return db

    def _claim(
        self, db: sqlite3.Connection, session_id: str | None, working_on: Collection[str]
    ) -> list[Turn]:
        found = rows.running(db, session_id)
        others = {owner for owner in {owner for owner, _ in found} if self._works(owner)}
        turns = [turn for owner, turn in found if owner not in others]
        turns = [turn for turn in turns if turn.id not in working_on]
        for turn in turns:
            db.execute("UPDATE turns SET owner = ? WHERE id = ?", (self._owners.me, turn.id))
        return turns

    def _works(self, owner: str) -> bool:
        """Whether that is another process, and it lives."""
        return owner != self._owners.me and self._owners.lives(owner)
