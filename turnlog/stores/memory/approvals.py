"""What people must decide, of rows in memory: approvals, and writes that are in doubt."""

from collections.abc import Collection, Iterable
from typing import Any

from turnlog.errors import NotFound
from turnlog.ports import Approval, ToolRun, User
from turnlog.projections import approvals as permits

Row = dict[str, Any]


def one(row: Row | None, user_id: str, approval_id: str) -> Approval:
    if row is None or row["user_id"] != user_id:
        raise NotFound(f"There is no approval {approval_id!r}.")
    return permits.approval(row)


def of_user(rows: Iterable[Row], user_id: str, status: str | None, limit: int) -> list[Approval]:
    return _page([row for row in rows if row["user_id"] == user_id], status, limit)


def of_calls(rows: Iterable[Row], user_id: str, tool_use_ids: Collection[str]) -> list[Approval]:
    mine = (row for row in rows if row["user_id"] == user_id)
    return [permits.approval(row) for row in mine if row["tool_use_id"] in tool_use_ids]


def to_decide(rows: Iterable[Row], user: User, status: str | None, limit: int) -> list[Approval]:
    return _page([row for row in rows if permits.is_listed(row, user)], status, limit)


def due(rows: Iterable[Row], now: str) -> list[tuple[str, Approval]]:
    late = [row for row in _open(rows) if row["expires_at"] <= now]
    late.sort(key=lambda row: (row["expires_at"], row["session_id"], row["seq"]))
    return [(row["user_id"], permits.approval(row)) for row in late]


def next_expiry(rows: Iterable[Row]) -> str | None:
    return min((row["expires_at"] for row in _open(rows)), default=None)


def doubts(rows: Iterable[Row], user_id: str) -> list[ToolRun]:
    mine = [row for row in rows if row["user_id"] == user_id and row["status"] == "in_doubt"]
    return [permits.tool_run(row) for row in mine]


def _open(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "pending"]


def _page(rows: list[Row], status: str | None, limit: int) -> list[Approval]:
    chosen = [row for row in rows if status in (None, row["status"])]
    return [permits.approval(row) for row in sorted(chosen, key=_age)[:limit]]


def _age(row: Row) -> tuple[str, str, int]:
    return row["created_at"], row["session_id"], row["seq"]
