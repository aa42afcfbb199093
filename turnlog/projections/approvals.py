"""Rows of `approvals` and `tool_runs` as the values that people are shown."""

from typing import Any

import msgspec

from turnlog.errors import Forbidden, NotFound
from turnlog.events import money
from turnlog.ports import Approval, ToolRun, User, may_decide

Row = dict[str, Any]
_NAMED_OTHERWISE = {
    "id": "approval_id",
    "started_at": "created_at",
    "asked_by": "user_id",
    "cost_so_far_usd": "cost_picousd",
}


def approval(row: Row) -> Approval:
    values = _values(row, Approval)
    cost = values["cost_so_far_usd"]
    return Approval(**values | {"cost_so_far_usd": None if cost is None else money.usd(cost)})


def for_decider(row: Row | None, user: User, approval_id: str) -> Approval:
    """The approval, for who may decide on it. Raises NotFound for anybody else; the asker, who
    knows of it, is told that others decide (Forbidden)."""
    if row is not None and may_decide(row["may_decide"], row["user_id"], user):
        return approval(row)
    if row is not None and row["user_id"] == user.id:
        raise Forbidden(f"This is for somebody else to decide: {row['may_decide']}.")
    raise NotFound(f"There is no approval {approval_id!r}.")


def is_listed(row: Row, user: User) -> bool:
    """Whether the user finds it among what is to decide."""
    if not may_decide(row["may_decide"], row["user_id"], user):
        return False
    return user.id in (row["user_id"], row["decided_by"]) or row["status"] == "pending"


def tool_run(row: Row) -> ToolRun:
    return ToolRun(**_values(row, ToolRun))


def _values(row: Row, kind: type[Approval] | type[ToolRun]) -> Row:
    values = {name: row[_NAMED_OTHERWISE.get(name, name)] for name in kind.__struct_fields__}
    return values | {"args": msgspec.json.decode(row["args"])}
