"""What SQLite is asked for bills and budgets."""

import sqlite3
from contextlib import suppress

from turnlog.errors import UnknownEvent
from turnlog.events.record import Record, stamped
from turnlog.ports import Charge, Spent
from turnlog.projections import tables
from turnlog.projections.billing.charges import SUMS
from turnlog.stores.sqlite.statements import SQL, insert, update


def charges(db: sqlite3.Connection, **bounds: str | None) -> list[Charge]:
    columns = ", ".join(Charge._fields)
    sql = SQL["list_charges"].format(columns=columns, bounds=_conditions(bounds))
    return [Charge(*row) for row in db.execute(sql, bounds)]


def spent(db: sqlite3.Connection, **bounds: str | None) -> Spent:
    sql = SQL["sum_charges"].format(bounds=_conditions(bounds))
    tokens, millions, rest = db.execute(sql, bounds).fetchone()
    return Spent(tokens, millions * 1_000_000 + rest)


def count_messages(db: sqlite3.Connection, session_id: str) -> int:
    (count,) = db.execute(SQL["count_messages"], {"session_id": session_id}).fetchone()
    return int(count)


def _conditions(bounds: dict[str, str | None]) -> str:
    given = [SQL[f"bound_{name}"] for name, value in bounds.items() if value is not None]
    return " AND ".join(given) or SQL["bound_none"]


def fold_usage(db: sqlite3.Connection) -> None:
    """Write `usage` and the sums of messages anew, from the log.

    It runs inside of migration 5: a later one that changes these tables must fold anew. A row
    that cannot be read is for `turnlog verify`.
    """
    sums = update("messages", SUMS, tables.KEYS["messages"])
    for user_id, *row in db.execute(SQL["list_messages_to_fold"]):
        with suppress(ValueError, UnknownEvent):
            for write in tables.writes(user_id, stamped(Record(*row))):
                if write.table == "usage":
                    db.execute(insert("usage", tuple(write.values)), write.values)
                elif write.table == "messages":
                    db.execute(sums, write.values)
