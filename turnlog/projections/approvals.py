"""Rows of `approvals` and `tool_runs` as the values that people are shown."""

from typing import Any

import msgspec

from turnlog.ports import Approval, ToolRun

Row = dict[str, Any]
_NAMED_OTHERWISE = {"id": "approval_id", "started_at": "created_at"}


def approval(row: Row) -> Approval:
    return Approval(**_values(row, Approval))


def tool_run(row: Row) -> ToolRun:
    return ToolRun(**_values(row, ToolRun))


def _values(row: Row, kind: type[Approval] | type[ToolRun]) -> Row:
    values = {name: row[_NAMED_OTHERWISE.get(name, name)] for name in kind.__struct_fields__}
    return values | {"args": msgspec.json.decode(row["args"])}
