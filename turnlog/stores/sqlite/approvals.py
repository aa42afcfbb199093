"""What people must decide, read from the tables: approvals, and writes that are in doubt."""

import sqlite3
from typing import Any

from turnlog.errors import NotFound
from turnlog.ports import Approval, ToolRun
from turnlog.projections import approvals as permits
from turnlog.stores.sqlite.rows import as_dicts


def approval(db: sqlite3.Connection, user_id: str, approval_id: str) -> Approval:
    sql = "SELECT * FROM approvals WHERE approval_id = ? AND user_id = ?"
    found = _rows(db, sql, approval_id, user_id)
    if not found:
        raise NotFound(f"There is no approval {approval_id!r}.")
    return permits.approval(found[0])


def approvals(
    db: sqlite3.Connection, user_id: str, status: str | None, limit: int
) -> list[Approval]:
    sql = """SELECT * FROM approvals WHERE user_id = ? AND status = coalesce(?, status)
             ORDER BY created_at, session_id, seq LIMIT ?"""
    return [permits.approval(row) for row in _rows(db, sql, user_id, status, limit)]


def due(db: sqlite3.Connection, now: str) -> list[tuple[str, Approval]]:
    sql = """SELECT * FROM approvals WHERE status = 'pending' AND expires_at <= ?
             ORDER BY expires_at, session_id, seq"""
    return [(row["user_id"], permits.approval(row)) for row in _rows(db, sql, now)]


def next_expiry(db: sqlite3.Connection) -> str | None:
    sql = "SELECT min(expires_at) FROM approvals WHERE status = 'pending'"
    found: str | None = db.execute(sql).fetchone()[0]
    return found


def doubts(db: sqlite3.Connection, user_id: str) -> list[ToolRun]:
    sql = """SELECT * FROM tool_runs WHERE user_id = ? AND status = 'in_doubt'
             ORDER BY created_at, session_id, tool_use_id"""
    return [permits.tool_run(row) for row in _rows(db, sql, user_id)]


def _rows(db: sqlite3.Connection, sql: str, *values: object) -> list[dict[str, Any]]:
    return as_dicts(db.execute(sql, values))
