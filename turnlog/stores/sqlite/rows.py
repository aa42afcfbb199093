"""What is done on a connection: each function is one step of one transaction."""

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from turnlog.errors import (
    AlreadyAsked,
    AlreadyBegun,
    AlreadyDecided,
    Busy,
    MessageIdTaken,
    NotFound,
    TurnOver,
)
from turnlog.events.base import Placed, Stamped
from turnlog.events.clock import now
from turnlog.events.record import (
    NO_SEAL,
    Record,
    numbered,
    records,
    stamped,
)
from turnlog.ports import (
    Evidence,
    Session,
    ToolStarted,
    Turn,
)
from turnlog.projections import tables

SESSION = (
    "id, user_id, title, agent_id, created_at, anchor, archived, thinking_enabled,"
    " thinking_budget, web_search, searches"
)
TURN = "id, session_id, user_id, state, first_seq, started_at, request_id, draft"
RECORD = ", ".join(Record._fields)
_APPEND = f"INSERT INTO events ({RECORD}) VALUES ({', '.join('?' * len(Record._fields))})"
_LAST = "SELECT seq, seal FROM events WHERE session_id = ? ORDER BY seq DESC LIMIT 1"
_READ = f"SELECT {RECORD} FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_TAIL = f"SELECT {RECORD} FROM events WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
_ALL = f"SELECT {RECORD} FROM events WHERE session_id = ? ORDER BY seq"
# Every turn begins with a question, and the log is in order: no need to sort the turns.
_NEWEST_TURN = (
    f"SELECT {TURN} FROM turns WHERE id = (SELECT turn_id FROM events"
    " WHERE session_id = ? AND type = 'user_message_sent' ORDER BY seq DESC LIMIT 1)"
)
_END = 2**63 - 1  # above every number


def append(db: sqlite3.Connection, turn: Turn, events: Sequence[Placed], owner: str) -> int:
    """Annotate, if the turn is still the owner's."""
    _refuse_others(db, turn, owner)
    return annotate(db, turn, events)


def start_tools(
    db: sqlite3.Connection, turn: Turn, starting: Sequence[ToolStarted], owner: str
) -> None:
    _refuse_others(db, turn, owner)
    for started in starting:
        row = tables.tool_run(turn, started, now())
        try:
            db.execute(_insert_sql("tool_runs", tuple(row)), row)
        except sqlite3.IntegrityError:
            raise AlreadyBegun(started.tool_use_id) from None


def started_tools(db: sqlite3.Connection, turn: Turn) -> set[str]:
    sql = "SELECT tool_use_id FROM tool_runs WHERE turn_id = ? AND session_id = ? AND status = ?"
    found = db.execute(sql, (turn.id, turn.session_id, "executing"))
    return {row[0] for row in found}


def newest_turn(db: sqlite3.Connection, user_id: str, session_id: str) -> Turn | None:
    session(db, user_id, session_id)
    row = db.execute(_NEWEST_TURN, (session_id,)).fetchone()
    return None if row is None else turn(row)


def _refuse_others(db: sqlite3.Connection, turn: Turn, owner: str) -> None:
    row = db.execute("SELECT state, owner FROM turns WHERE id = ?", (turn.id,)).fetchone()
    if row is not None and row != ("running", owner):
        raise TurnOver(f"Turn {turn.id!r} is over, or in other hands.")


def annotate(db: sqlite3.Connection, turn: Turn, events: Sequence[Placed]) -> int:
    """Number the events and write them with all their rows."""
    last = db.execute(_LAST, (turn.session_id,)).fetchone()
    seq, seal = (last[0] + 1, last[1]) if last else (0, NO_SEAL)
    rows = records(turn.session_id, turn.id, events, seq, seal)
    for row, placed in zip(rows, events, strict=True):
        db.execute(_APPEND, row)
        kept = numbered(placed, turn.session_id, turn.id, row.seq)
        for write in tables.writes(turn.user_id, kept):
            _write(db, write)
    return seq


def read(
    db: sqlite3.Connection, user_id: str, session_id: str, after: int, limit: int | None
) -> list[Stamped]:
    session(db, user_id, session_id)
    asked = (session_id, after, -1 if limit is None else limit)
    return [stamped(Record(*row)) for row in db.execute(_READ, asked)]


def tail(
    db: sqlite3.Connection, user_id: str, session_id: str, limit: int, before: int | None
) -> list[Stamped]:
    session(db, user_id, session_id)
    asked = (session_id, _END if before is None else before, limit)
    newest = [stamped(Record(*row)) for row in db.execute(_TAIL, asked)]
    return newest[::-1]


def _write(db: sqlite3.Connection, write: tables.Write) -> None:
    names = tuple(write.values)
    if write.only_while is not None:
        _refuse_unless(db, write)
    new = write.new
    sql = _insert_sql(write.table, names) if new else _update_sql(write.table, names, write.added)
    try:
        db.execute(sql, write.values)
    except sqlite3.IntegrityError as error:
        if write.table == "messages" and "messages.message_id" in str(error):
            raise MessageIdTaken(f"message id {write.key[0]!r} is taken") from None
        raise


def _refuse_unless(db: sqlite3.Connection, write: tables.Write) -> None:
    place = " AND ".join(f"{key} = ?" for key in tables.KEYS[write.table])
    row = db.execute(f"SELECT status FROM {write.table} WHERE {place}", write.key).fetchone()
    if row is None or row[0] != write.only_while:
        raise AlreadyDecided(f"This is {row[0] if row else 'unknown'} already.")


@cache
def _insert_sql(table: str, names: tuple[str, ...]) -> str:
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


@cache
def _update_sql(table: str, names: tuple[str, ...], added: tuple[str, ...] = ()) -> str:
    changes = ", ".join(
        f"{n} = {n} + :{n}" if n in added else f"{n} = :{n}"
        for n in names
        if n not in tables.KEYS[table]
    )
    place = " AND ".join(f"{key} = :{key}" for key in tables.KEYS[table])
    return f"UPDATE {table} SET {changes} WHERE {place}"


def session(db: sqlite3.Connection, user_id: str | None, session_id: str) -> Session:
    """`user_id` None is the audit, which sees everybody's."""
    sql = f"SELECT {SESSION} FROM sessions WHERE id = ? AND user_id = coalesce(?, user_id)"
    row = db.execute(sql, (session_id, user_id)).fetchone()
    if row is None:
        raise NotFound(f"There is no session {session_id!r}.")
    return _as_session(row)


def _as_session(row: tuple[Any, ...]) -> Session:
    values = dict(zip(_names(SESSION), row, strict=True))
    flags = {name: bool(values[name]) for name in ("archived", "thinking_enabled", "web_search")}
    return Session(**(values | flags))


def sessions(
    db: sqlite3.Connection, user_id: str, limit: int, after: str | None, archived: bool
) -> list[Session]:
    sql = f"SELECT {SESSION} FROM sessions WHERE user_id = ? AND archived = ?"
    asked: list[Any] = [user_id, archived]
    if after is not None:
        last = session(db, user_id, after)
        sql += " AND (created_at, id) < (?, ?)"
        asked += [last.created_at, last.id]
    found = db.execute(sql + " ORDER BY created_at DESC, id DESC LIMIT ?", (*asked, limit))
    return [_as_session(row) for row in found]


def update_session(
    db: sqlite3.Connection, user_id: str, session_id: str, changes: dict[str, Any]
) -> Session:
    session(db, user_id, session_id)
    if changes:
        values = changes | {"id": session_id}
        db.execute(_update_sql("sessions", tuple(values)), values)
    return session(db, user_id, session_id)


def begin(db: sqlite3.Connection, turn: Turn, first: Sequence[Placed], owner: str) -> Turn:
    session(db, turn.user_id, turn.session_id)
    asked = "SELECT id, state, first_seq FROM turns WHERE session_id = ? AND request_id = ?"
    if row := db.execute(asked, (turn.session_id, turn.request_id)).fetchone():
        raise AlreadyAsked(row[0], state=row[1], first_seq=row[2])
    is_open = "SELECT id, state FROM turns WHERE session_id = ? AND state IN ('running', 'waiting')"
    if row := db.execute(is_open, (turn.session_id,)).fetchone():
        raise Busy(row[0], waiting=row[1] == "waiting")
    begun = msgspec.structs.replace(turn, first_seq=annotate(db, turn, first))
    values = (*msgspec.structs.astuple(begun), owner)
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO turns ({TURN}, owner) VALUES ({marks})", values)
    return begun


def evidence(db: sqlite3.Connection, session_id: str) -> Evidence:
    """Read at one moment: what is written meanwhile is not seen, or the parts would not fit."""
    db.execute("BEGIN")
    try:
        found = session(db, None, session_id)
        log = db.execute(_ALL, (found.id,))
        turns = db.execute(f"SELECT {TURN} FROM turns WHERE session_id = ?", (found.id,))
        rows = {table: _rows(db, table, found.id) for table in tables.STORED}
        return Evidence(found, [Record(*row) for row in log], rows, [turn(row) for row in turns])
    finally:
        db.execute("COMMIT")


def running(db: sqlite3.Connection, session_id: str | None) -> list[tuple[str, Turn]]:
    """Every running turn with its owner; of one session, or of all."""
    sql = f"SELECT owner, {TURN} FROM turns WHERE state = 'running'"
    asked = () if session_id is None else (session_id,)
    found = db.execute(sql + (" AND session_id = ?" if asked else ""), asked)
    return [(row[0], turn(row[1:])) for row in found]


def claim_waiting(db: sqlite3.Connection, user_id: str, session_id: str, owner: str) -> Turn | None:
    session(db, user_id, session_id)
    sql = f"SELECT {TURN} FROM turns WHERE session_id = ? AND state = 'waiting'"
    row = db.execute(sql, (session_id,)).fetchone()
    if row is None:
        return None
    db.execute("UPDATE turns SET state = 'running', owner = ? WHERE id = ?", (owner, row[0]))
    return msgspec.structs.replace(turn(row), state="running")


def _rows(db: sqlite3.Connection, table: str, session_id: str) -> list[dict[str, Any]]:
    return as_dicts(db.execute(f"SELECT * FROM {table} WHERE session_id = ?", (session_id,)))


def as_dicts(found: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def turn(row: tuple[Any, ...]) -> Turn:
    return Turn(**dict(zip(_names(TURN), row, strict=True)))


@cache
def _names(columns: str) -> tuple[str, ...]:
    return tuple(columns.split(", "))
