"""Citations on a connection."""

from typing import Any

from turnlog.errors import NotFound
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sql.tables import sessions

COLUMNS = (
    *("message_id", "position", "session_id", "created_at"),
    *("seq", "block_index", "kind", "cited_text", "location"),
)


def of_message(db: Connection, user_id: str, message_id: str) -> list[dict[str, Any]]:
    key = {"user_id": user_id, "message_id": message_id}
    if db.execute(SQL["get_message_of_user"], key).fetchone() is None:
        raise NotFound(f"There is no message {message_id!r}.")
    return [_row(row) for row in db.execute(SQL["list_citations_of_message"], key)]


def of_session(
    db: Connection, user_id: str, session_id: str, limit: int, after: int
) -> list[dict[str, Any]]:
    sessions.find(db, user_id, session_id)
    bounds = {"session_id": session_id, "limit": limit, "after": after}
    return [_row(row) for row in db.execute(SQL["list_citations_of_session"], bounds)]


def _row(row: Any) -> dict[str, Any]:
    return dict(zip(COLUMNS, row, strict=True))
