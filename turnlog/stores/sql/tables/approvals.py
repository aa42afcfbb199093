"""What people must decide, on a connection: approvals, and writes that are in doubt."""

from collections.abc import Sequence
from typing import Any

from turnlog.errors import NotFound
from turnlog.ports import Approval, ToolRun, User, rules_of
from turnlog.projections import approvals as permits
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sql.tables.log import as_dicts

CALLS_AT_ONCE = 100  # that are named in one statement


def approval(db: Connection, user_id: str, approval_id: str) -> Approval:
    rows = _rows(db, "get_approval", approval_id=approval_id, user_id=user_id)
    if not rows:
        raise NotFound(f"There is no approval {approval_id!r}.")
    return permits.approval(rows[0])


def approvals(db: Connection, user_id: str, status: str | None, limit: int) -> list[Approval]:
    rows = _rows(db, "list_approvals", user_id=user_id, status=status, limit=limit)
    return [permits.approval(row) for row in rows]


def of_calls(db: Connection, user_id: str, calls: Sequence[str]) -> list[Approval]:
    found: list[Approval] = []
    for begin in range(0, len(calls), CALLS_AT_ONCE):
        named = {f"call_{n}": call for n, call in enumerate(calls[begin : begin + CALLS_AT_ONCE])}
        sql = SQL["list_approvals_of_calls"].format(calls=", ".join(f":{name}" for name in named))
        rows = as_dicts(db.execute(sql, {"user_id": user_id} | named))
        found += [permits.approval(row) for row in rows]
    return found


def to_decide(db: Connection, user: User, approval_id: str) -> Approval:
    rows = _rows(db, "find_approval", approval_id=approval_id)
    return permits.for_decider(rows[0] if rows else None, user, approval_id)


def all_to_decide(db: Connection, user: User, status: str | None, limit: int) -> list[Approval]:
    values: dict[str, object] = {"user_id": user.id, "status": status, "limit": limit}
    if user.admin:
        own, others = SQL["decided_by_admin"], SQL["decided_for_others_by_admin"]
    else:
        own = _is_one_of("own", rules_of(user, is_asker=True), values)
        others = _is_one_of("others", rules_of(user, is_asker=False), values)
    sql = SQL["list_approvals_to_decide"].format(own=own, others=others)
    return [permits.approval(row) for row in as_dicts(db.execute(sql, values))]


def _is_one_of(name: str, rules: list[str], values: dict[str, object]) -> str:
    named = {f"{name}_{place}": rule for place, rule in enumerate(rules)}
    values |= named
    return SQL["decided_by_rules"].format(rules=", ".join(f":{key}" for key in named))


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
