"""Sessions on a connection."""

import sqlite3
from typing import Any

import msgspec

from turnlog.errors import NotFound
from turnlog.ports import Session
from turnlog.stores.sqlite.statements import SQL, insert, update

_COLUMNS = Session.__struct_fields__  # the statements list them in this order
_FLAGS = ("archived", "thinking_enabled", "web_search")
_NEWEST = {"created_at": "\U0010ffff", "id": ""}  # a place before every session


def create(db: sqlite3.Connection, session: Session) -> None:
    db.execute(insert("sessions", _COLUMNS), msgspec.structs.asdict(session))


def find(db: sqlite3.Connection, user_id: str | None, session_id: str) -> Session:
    """`user_id` None is the audit, which sees everybody's."""
    row = db.execute(SQL["get_session"], {"id": session_id, "user_id": user_id}).fetchone()
    if row is None:
        raise NotFound(f"There is no session {session_id!r}.")
    return _session(row)


def page(
    db: sqlite3.Connection, user_id: str, limit: int, after: str | None, archived: bool
) -> list[Session]:
    place = _NEWEST
    if after is not None:
        last = find(db, user_id, after)
        place = {"created_at": last.created_at, "id": last.id}
    bounds = {"user_id": user_id, "archived": archived, "limit": limit}
    return [_session(row) for row in db.execute(SQL["list_sessions"], place | bounds)]


def change(
    db: sqlite3.Connection, user_id: str, session_id: str, changes: dict[str, Any]
) -> Session:
    find(db, user_id, session_id)
    if changes:
        db.execute(update("sessions", tuple(changes), ("id",)), changes | {"id": session_id})
    return find(db, user_id, session_id)


def every_id(db: sqlite3.Connection) -> list[str]:
    return [row[0] for row in db.execute(SQL["list_session_ids"])]


def _session(row: tuple[Any, ...]) -> Session:
    values = dict(zip(_COLUMNS, row, strict=True))
    return Session(**(values | {name: bool(values[name]) for name in _FLAGS}))
