"""A session as another store had it, row by row: seals, numbers and ids stay as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.ports import Evidence
from turnlog.projections.tables import plain
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL, insert
from turnlog.stores.sql.tables import sessions, turns

# What waits and is no session's log. Tickets are left: they live for a minute.
BESIDE = ("line", "outbox", "deposits")
_AT_ONCE = 50  # rows of the log


def restore(db: Connection, evidence: Evidence) -> None:
    """Write all of it. Raises Conflict where the session is there already."""
    db.lock(evidence.session.id)
    sessions.create(db, evidence.session)
    for first in range(0, len(evidence.log), _AT_ONCE):
        some = evidence.log[first : first + _AT_ONCE]
        numbers = {row.seq for row in some}
        messages = [row for row in evidence.tables["messages"] if row["seq"] in numbers]
        db.append_events(some, {"messages": messages})
    for table, rows in evidence.tables.items():
        for row in rows if table != "messages" else ():
            db.execute(insert(table, tuple(row)), plain(row))
    for turn in evidence.turns:
        turns.restore(db, turn)


def beside(db: Connection) -> dict[str, list[dict[str, Any]]]:
    return {
        table: [dict(row) for row in db.execute(SQL["list_all_rows"].format(table=table))]
        for table in BESIDE
    }


def restore_beside(db: Connection, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    for table, rows in tables.items():
        for row in rows:
            db.execute(insert(table, tuple(row)), row)
