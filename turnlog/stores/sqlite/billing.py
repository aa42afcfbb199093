"""What SQLite is asked for bills and budgets."""

import sqlite3
from contextlib import suppress
from typing import Any

from turnlog.errors import UnknownEvent
from turnlog.events.record import Record, stamped
from turnlog.ports import Charge, Spent
from turnlog.projections import tables
from turnlog.projections.billing.charges import SUMS

_CHARGE = ", ".join(Charge._fields)
_RECORD = ", ".join(f"events.{name}" for name in Record._fields)
_TOKENS = (
    "input_tokens + output_tokens + cache_write_5m_tokens + cache_write_1h_tokens"
    " + cache_read_tokens"
)
# fmt: off
_BOUNDS = {"user_id": "user_id = ?", "session_id": "session_id = ?",
           "start": "created_at >= ?", "end": "created_at < ?"}
# fmt: on


_SUMS = (
    f"UPDATE messages SET {', '.join(f'{name} = :{name}' for name in SUMS)}"
    " WHERE message_id = :message_id"
)


def charges(db: sqlite3.Connection, **bounds: str | None) -> list[Charge]:
    where, asked = _where(bounds)
    order = "ORDER BY created_at, session_id, seq, part"
    found = db.execute(f"SELECT {_CHARGE} FROM usage {where} {order}", asked)
    return [Charge(*row) for row in found]


def spent(db: sqlite3.Connection, **bounds: str | None) -> Spent:
    where, asked = _where(bounds)
    sums = f"coalesce(sum({_TOKENS}), 0), coalesce(sum(cost_picousd), 0)"
    return Spent(*db.execute(f"SELECT {sums} FROM usage {where}", asked).fetchone())


def count_messages(db: sqlite3.Connection, session_id: str) -> int:
    sql = "SELECT count(*) FROM messages WHERE session_id = ? AND NOT is_internal"
    (count,) = db.execute(sql, (session_id,)).fetchone()
    return int(count)


def _where(bounds: dict[str, str | None]) -> tuple[str, list[str]]:
    given = {name: value for name, value in bounds.items() if value is not None}
    conditions = " AND ".join(_BOUNDS[name] for name in given)
    return f"WHERE {conditions}" if given else "", list(given.values())


def fold_usage(db: sqlite3.Connection) -> None:
    """Write `usage` and the sums of messages anew, from the log.

    It runs inside of migration 5: a later one that changes these tables must fold anew. A row
    that cannot be read is for `turnlog verify`.
    """
    sql = f"SELECT sessions.user_id, {_RECORD} FROM events JOIN sessions ON id = session_id"
    for row in db.execute(f"{sql} WHERE type = 'message'"):
        with suppress(ValueError, UnknownEvent):
            for write in tables.writes(row[0], stamped(Record(*row[1:]))):
                if write.table == "usage":
                    _insert(db, write.values)
                elif write.table == "messages":
                    db.execute(_SUMS, write.values)


def _insert(db: sqlite3.Connection, values: dict[str, Any]) -> None:
    marks = ", ".join(f":{name}" for name in values)
    db.execute(f"INSERT INTO usage ({', '.join(values)}) VALUES ({marks})", values)
