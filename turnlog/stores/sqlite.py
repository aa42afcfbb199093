"""The default store: one SQLite file, in WAL mode, every commit on disk before it is answered.

One thread writes (see `sqlite_writer`), readers work beside it. Several processes may open
the same file: each holds a lock on a file of its own, which the system releases when the
process dies, however it dies; that is how the turns of a dead process are recognized.
"""

import asyncio
import fcntl
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turnlog.errors import AlreadyAsked, Busy, MessageIdTaken, NotFound
from turnlog.events.base import Placed, Stamped
from turnlog.events.record import NO_SEAL, Record, records, stamped
from turnlog.ports import Evidence, Session, Turn
from turnlog.projections import tables
from turnlog.stores.migrate import migrate
from turnlog.stores.sqlite_writer import Writer

T = TypeVar("T")
_SESSION = "id, user_id, title, agent_id, created_at, anchor"
_TURN = "id, session_id, user_id, state, first_seq, started_at, request_id, draft"
_APPEND = f"INSERT INTO events VALUES ({', '.join('?' * len(Record._fields))})"
_LAST = "SELECT seq, seal FROM events WHERE session_id = ? ORDER BY seq DESC LIMIT 1"
_READ = "SELECT * FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"


class SqliteStore:
    """A Store in one file under `folder`."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._owner = uuid.uuid4().hex
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    async def open(self) -> None:
        """Make the file or bring it up to date; say to other processes that this one lives."""
        self._owners.mkdir(parents=True, exist_ok=True)
        with _alone(self._folder / "opening.lock"), closing(self._connect()) as db:
            migrate(db)
        self._lock = _lock(self._owners / self._owner)
        self._writer = Writer(self._connect)
        self._readers = ThreadPoolExecutor(2, "turnlog-reader")

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()
        (self._owners / self._owner).unlink(missing_ok=True)
        os.close(self._lock)

    # the log

    async def append(self, turn: Turn, events: Sequence[Placed]) -> int:
        return await self._writer.run(partial(_append, turn=turn, events=events))

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        def look(db: sqlite3.Connection) -> list[Stamped]:
            _session(db, user_id, session_id)
            asked = (session_id, after, -1 if limit is None else limit)
            return [stamped(Record(*row)) for row in db.execute(_READ, asked)]

        return await self._look(look)

    # sessions

    async def create_session(self, session: Session) -> None:
        values = msgspec.structs.astuple(session)
        sql = f"INSERT INTO sessions ({_SESSION}) VALUES ({', '.join('?' * len(values))})"
        await self._writer.run(lambda db: db.execute(sql, values).rowcount)

    async def get_session(self, user_id: str, session_id: str) -> Session:
        return await self._look(partial(_session, user_id=user_id, session_id=session_id))

    # turns

    async def begin_turn(self, turn: Turn, first: Sequence[Placed]) -> Turn:
        return await self._writer.run(partial(_begin, turn=turn, first=first, owner=self._owner))

    async def save_draft(self, turn_id: str, draft: bytes) -> None:
        sql = "UPDATE turns SET draft = ? WHERE id = ? AND state = 'running'"
        await self._writer.run(lambda db: db.execute(sql, (draft, turn_id)).rowcount)

    async def finish_turn(self, turn_id: str) -> None:
        sql = "UPDATE turns SET state = 'done', draft = NULL WHERE id = ? AND state = 'running'"
        await self._writer.run(lambda db: db.execute(sql, (turn_id,)).rowcount)

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        return await self._writer.run(
            partial(self._claim, session_id=session_id, working_on=working_on)
        )

    # the audit

    async def session_ids(self) -> list[str]:
        sql = "SELECT id FROM sessions ORDER BY created_at, id"
        return await self._look(lambda db: [row[0] for row in db.execute(sql)])

    async def evidence(self, session_id: str) -> Evidence:
        return await self._look(lambda db: _at_one_moment(db, partial(_evidence, db, session_id)))

    # inside

    @property
    def _owners(self) -> Path:
        return self._folder / "owners"

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
        found = db.execute(
            f"SELECT owner, {_TURN} FROM turns"
            " WHERE state = 'running' AND session_id = coalesce(?, session_id)",
            (session_id,),
        ).fetchall()
        alive = {owner for owner in {row[0] for row in found} if self._works(owner)}
        turns = [_turn(row[1:]) for row in found if row[0] not in alive]
        turns = [turn for turn in turns if turn.id not in working_on]
        for turn in turns:
            db.execute("UPDATE turns SET owner = ? WHERE id = ?", (self._owner, turn.id))
        return turns

    def _works(self, owner: str) -> bool:
        """Whether that is another process, and it lives."""
        return owner != self._owner and _lives(self._owners / owner)


def _append(db: sqlite3.Connection, turn: Turn, events: Sequence[Placed]) -> int:
    last = db.execute(_LAST, (turn.session_id,)).fetchone()
    seq, seal = (last[0] + 1, last[1]) if last else (0, NO_SEAL)
    for row, placed in zip(
        records(turn.session_id, turn.id, events, seq, seal), events, strict=True
    ):
        db.execute(_APPEND, row)
        at = Stamped(
            session_id=turn.session_id,
            turn_id=turn.id,
            placed=placed,
            seq=row.seq,
            position=row.seq,
        )
        for write in tables.writes(turn.user_id, at):
            _write(db, write)
    return seq


def _write(db: sqlite3.Connection, write: tables.Write) -> None:
    sql = _insert_sql if write.new else _update_sql
    try:
        db.execute(sql(write.table, tuple(write.values)), write.values)
    except sqlite3.IntegrityError as error:
        if write.table == "messages" and "messages.message_id" in str(error):
            raise MessageIdTaken(f"message id {write.key[0]!r} is taken") from None
        raise


@cache
def _insert_sql(table: str, names: tuple[str, ...]) -> str:
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


@cache
def _update_sql(table: str, names: tuple[str, ...]) -> str:
    changes = ", ".join(f"{n} = :{n}" for n in names if n not in tables.KEYS[table])
    place = " AND ".join(f"{key} = :{key}" for key in tables.KEYS[table])
    return f"UPDATE {table} SET {changes} WHERE {place}"


def _session(db: sqlite3.Connection, user_id: str | None, session_id: str) -> Session:
    """`user_id` None is the audit, which sees everybody's."""
    sql = f"SELECT {_SESSION} FROM sessions WHERE id = ? AND user_id = coalesce(?, user_id)"
    row = db.execute(sql, (session_id, user_id)).fetchone()
    if row is None:
        raise NotFound(f"There is no session {session_id!r}.")
    return Session(**dict(zip(_names(_SESSION), row, strict=True)))


def _begin(db: sqlite3.Connection, turn: Turn, first: Sequence[Placed], owner: str) -> Turn:
    _session(db, turn.user_id, turn.session_id)
    asked = "SELECT id FROM turns WHERE session_id = ? AND request_id = ?"
    if row := db.execute(asked, (turn.session_id, turn.request_id)).fetchone():
        raise AlreadyAsked(row[0])
    running = "SELECT id FROM turns WHERE session_id = ? AND state = 'running'"
    if row := db.execute(running, (turn.session_id,)).fetchone():
        raise Busy(row[0])
    begun = msgspec.structs.replace(turn, first_seq=_append(db, turn, first))
    values = (*msgspec.structs.astuple(begun), owner)
    db.execute(
        f"INSERT INTO turns ({_TURN}, owner) VALUES ({', '.join('?' * len(values))})", values
    )
    return begun


def _at_one_moment(db: sqlite3.Connection, look: Callable[[], T]) -> T:
    """What is written while we look is not seen, or the parts would not fit together."""
    db.execute("BEGIN")
    try:
        return look()
    finally:
        db.execute("COMMIT")


def _evidence(db: sqlite3.Connection, session_id: str) -> Evidence:
    session = _session(db, None, session_id)
    log = db.execute("SELECT * FROM events WHERE session_id = ? ORDER BY seq", (session_id,))
    rows = {table: _rows(db, table, session_id) for table in tables.FOLDED}
    running = db.execute(
        "SELECT id FROM turns WHERE session_id = ? AND state = 'running'", (session_id,)
    )
    ids = [row[0] for row in running]
    return Evidence(session, [Record(*row) for row in log], rows, ids)


def _rows(db: sqlite3.Connection, table: str, session_id: str) -> list[dict[str, Any]]:
    found = db.execute(f"SELECT * FROM {table} WHERE session_id = ?", (session_id,))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def _turn(row: tuple[Any, ...]) -> Turn:
    return Turn(**dict(zip(_names(_TURN), row, strict=True)))


@cache
def _names(columns: str) -> tuple[str, ...]:
    return tuple(columns.split(", "))


def _lock(path: Path) -> int:
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Of several processes that open a new place at once one makes it, and the others wait."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lives(path: Path) -> bool:
    """Whether the process that this file stands for still holds its lock."""
    if not path.exists():
        return False
    try:
        os.close(_lock(path))
    except BlockingIOError:
        return True
    path.unlink()
    return False
