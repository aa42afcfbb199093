"""Writes that tools began."""

from typing import Any

from turnlog.events.base import Value


class ToolRun(Value, frozen=True, kw_only=True):
    """A write that began, and what is known of its effect."""

    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    idempotency_key: str
    started_at: str
    status: str  # executing | done | failed | in_doubt | happened | did_not_happen
    decided_by: str | None = None
    decided_at: str | None = None
    note: str | None = None
