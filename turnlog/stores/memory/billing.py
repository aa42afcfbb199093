"""What the memory store is asked for bills and budgets: the same as SQL, over dictionaries."""

from collections.abc import Iterable
from typing import Any

from turnlog.ports import Charge, Spent


def charges(
    rows: Iterable[dict[str, Any]],
    user_id: str | None,
    session_id: str | None,
    start: str | None,
    end: str | None,
) -> list[Charge]:
    found = [
        row
        for row in rows
        if user_id in (None, row["user_id"])
        and session_id in (None, row["session_id"])
        and (start is None or row["created_at"] >= start)
        and (end is None or row["created_at"] < end)
    ]
    found.sort(key=lambda row: (row["created_at"], row["session_id"], row["seq"], row["part"]))
    return [Charge(*(row[name] for name in Charge._fields)) for row in found]


def spent(rows: Iterable[Charge]) -> Spent:
    tokens = picousd = 0
    for row in rows:
        tokens += row.part.total_tokens
        picousd += row.cost_picousd or 0
    return Spent(tokens, picousd)
