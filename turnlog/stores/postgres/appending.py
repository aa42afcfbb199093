"""What an append writes, as one statement: a round trip less for each row.

A statement has a bounded number of values, so what is more comes in statements of its own.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from turnlog.events.rows.record import Record
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.sql.connection import NewRows

_MESSAGE = ("message_id", "session_id", "seq")
MOST = 20  # rows of each other table in one statement
_FIRST = len(Record._fields) + len(_MESSAGE)  # so many values come before those of other tables
Shape = tuple[tuple[str, tuple[str, ...], int], ...]  # table, columns, how many rows


def parted(beside: NewRows) -> tuple[NewRows, NewRows]:
    """What goes along with the log, and what comes after it."""
    along = {t: rows if t == "messages" else rows[:MOST] for t, rows in beside.items()}
    return along, {t: rows[MOST:] for t, rows in beside.items() if t != "messages"}


def appended(rows: Sequence[Record], beside: NewRows) -> tuple[str, list[Any]]:
    """The statement and its values. Rows of one table have the same columns."""
    messages = beside.get("messages", ())
    columns = [*zip(*rows, strict=True)] or [()] * len(Record._fields)
    values: list[Any] = [[*column] for column in columns]
    values[Record._fields.index("is_internal")] = [int(row.is_internal) for row in rows]
    values += [[row[name] for row in messages] for name in _MESSAGE]
    shape: Shape = tuple(
        (table, tuple(new[0]), len(new))
        for table, new in beside.items()
        if table != "messages" and new
    )
    for table, names, _ in shape:
        values += [row[name] for row in beside[table] for name in names]
    return _statement(shape), values


@lru_cache(maxsize=200)
def _statement(shape: Shape) -> str:
    return SQL["append_event"].format(beside="".join(_beside(shape)))


def _beside(shape: Shape) -> Iterator[str]:
    place = _FIRST
    for table, columns, count in shape:
        rows = []
        for _ in range(count):
            rows.append(", ".join(f"${place + n}" for n in range(1, len(columns) + 1)))
            place += len(columns)
        names, values = ", ".join(columns), ", ".join(f"({row})" for row in rows)
        yield SQL["append_beside"].format(table=table, columns=names, rows=values)
