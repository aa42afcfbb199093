"""Sessions on a connection."""

from collections.abc import Collection
from typing import Any

from turnlog.errors import NotFound
from turnlog.ports import Session
from turnlog.stores import texts
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL, insert, update

_SEEN = ("state", "turn_id", "last_activity_at")  # of the turns and the log: never set
_FIELDS = Session.__struct_fields__  # the statements list them in this order
_COLUMNS = tuple(name for name in _FIELDS if name not in _SEEN)
_GET, _LIST, _ACTIVE, _AUDITED = (
    SQL[name].format(columns=SQL["session_columns"])
    for name in ("get_session", "list_sessions", "list_active_sessions", "list_audited_sessions")
)
_FLAGS = ("archived", "thinking_enabled", "web_search")
_NEWEST = {"created_at": "\U0010ffff", "id": ""}  # a place before every session


def create(db: Connection, session: Session) -> None:
    values = {name: getattr(session, name) for name in _COLUMNS}
    db.execute(insert("sessions", _COLUMNS), values)


def find(db: Connection, user_id: str | None, session_id: str) -> Session:
    """`user_id` None is the audit, which sees everybody's."""
    row = db.execute(_GET, {"id": session_id, "user_id": user_id}).fetchone()
    if row is None:
        raise unknown(session_id)
    return _session(row)


def refuse_unknown(db: Connection, user_id: str, session_id: str) -> None:
    """Raises NotFound, as `find` does, and reads nothing of the session."""
    if db.execute(SQL["has_session"], {"id": session_id, "user_id": user_id}).fetchone() is None:
        raise unknown(session_id)


def unknown(session_id: str) -> NotFound:
    return NotFound(f"There is no session {session_id!r}.")


def page(
    db: Connection,
    user_id: str,
    limit: int,
    after: str | None,
    archived: bool,
    search: str,
    said: Collection[str] = (),
) -> list[Session]:
    """`said`: further sessions of the user that hold what is searched for."""
    place = _NEWEST
    if after is not None:
        last = find(db, user_id, after)
        place = {"created_at": last.created_at, "id": last.id}
    bounds = _fitting(db, user_id, archived, search, said) | {"limit": limit}
    return [_session(row) for row in db.execute(_LIST, place | bounds)]


def active(
    db: Connection,
    user_id: str,
    limit: int,
    below: tuple[str, str] | None,
    archived: bool,
    search: str,
    said: Collection[str] = (),
) -> list[Session]:
    at, session_id = below or (_NEWEST["created_at"], "")
    place = {"at": at, "id": session_id, "limit": limit}
    bounds = _fitting(db, user_id, archived, search, said)
    return [_session(row) for row in db.execute(_ACTIVE, place | bounds)]


def _fitting(
    db: Connection, user_id: str, archived: bool, search: str, said: Collection[str]
) -> dict[str, Any]:
    said = {*said, *(_said(db, user_id, archived, search) if search else ())}
    return {
        "user_id": user_id,
        "archived": archived,
        "search": search.casefold(),
        "said": f"|{'|'.join(said)}|",
    }


def reaches_all(db: Connection, user_id: str, archived: bool) -> bool:
    asked = {"user_id": user_id, "archived": archived} | texts.BOUNDS
    return bool(db.execute(SQL["reaches_all"], asked).fetchone()[0])


def _said(db: Connection, user_id: str, archived: bool, search: str) -> set[str]:
    """Sessions of the user in whose questions and answers the words are."""
    asked = {"user_id": user_id, "archived": archived} | texts.BOUNDS
    return texts.sessions_with(search, db.execute(SQL["list_newest_texts"], asked))


def audited(
    db: Connection, user_id: str | None, limit: int, after: str | None, search: str
) -> list[Session]:
    """Everybody's, or one user's, for an auditor."""
    place = _NEWEST
    if after is not None:
        last = find(db, None, after)
        place = {"created_at": last.created_at, "id": last.id}
    bounds = {"user_id": user_id, "limit": limit, "search": search.casefold()}
    return [_session(row) for row in db.execute(_AUDITED, place | bounds)]


def change(db: Connection, user_id: str, session_id: str, changes: dict[str, Any]) -> Session:
    find(db, user_id, session_id)
    if changes:
        db.execute(update("sessions", tuple(changes), ("id",)), changes | {"id": session_id})
    return find(db, user_id, session_id)


def name(db: Connection, session_id: str, title: str) -> None:
    db.execute(SQL["name_session"], {"id": session_id, "title": title})


def every_id(db: Connection) -> list[str]:
    return [row[0] for row in db.execute(SQL["list_session_ids"])]


def _session(row: tuple[Any, ...]) -> Session:
    values = dict(zip(_FIELDS, row, strict=True))
    return Session(**(values | {flag: bool(values[flag]) for flag in _FLAGS}))
