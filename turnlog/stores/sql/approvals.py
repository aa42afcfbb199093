"""What people must decide, on a connection: approvals, and writes that are in doubt."""

from typing import Any

from turnlog.errors import NotFound
from turnlog.ports import Approval, ToolRun
from turnlog.projections import approvals as permits
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.log import as_dicts
from turnlog.stores.sql.statements import SQL


def approval(db: Connection, user_id: str, approval_id: str) -> Approval:
    rows = _rows(db, "get_approval", approval_id=approval_id, user_id=user_id)
    if not rows:
        raise NotFound(f"There is no approval {approval_id!r}.")
    return permits.approval(rows[0])


def approvals(db: Connection, user_id: str, status: str | None, limit: int) -> list[Approval]:
    rows = _rows(db, "list_approvals", user_id=user_id, status=status, limit=limit)
    return [permits.approval(row) for row in rows]


def due(db: Connection, now: str) -> list[tuple[str, Approval]]:
    rows = _rows(db, "list_due_approvals", now=now)
    return [(row["user_id"], permits.approval(row)) for row in rows]


def next_expiry(db: Connection) -> str | None:
    expiry: str | None = db.execute(SQL["get_next_expiry"]).fetchone()[0]
    return expiry


def doubts(db: Connection, user_id: str) -> list[ToolRun]:
    return [permits.tool_run(row) for row in _rows(db, "list_doubts", user_id=user_id)]


def _rows(db: Connection, statement: str, **values: object) -> list[dict[str, Any]]:
    return as_dicts(db.execute(SQL[statement], values))
