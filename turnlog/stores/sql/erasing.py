"""Destroys what a session says: the content of its events, and rows beside the log that repeat it.

Numbers, digests, seals and bills stay, so that the log is proven as before. The salts go with the
content: without them nobody can try out words against a digest.
"""

from turnlog.errors import ConfigError
from turnlog.events.clock import now
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead
from turnlog.stores.sql.audit import add_read
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sql.tables import sessions

REPEATING = ("message_citations", "approvals", "tool_runs")
WHOLLY = ("line", "outbox", "archives")


def erase(db: Connection, session_id: str, by: str, seals: Seals) -> int:
    """How many events it was. `by`: who does it, for the trail.

    Raises NotFound, and ConfigError while a turn runs, which would go on to write.
    """
    db.lock(session_id)
    if sessions.find(db, None, session_id).state == "running":
        raise ConfigError(
            f"In the session {session_id!r} a turn runs. Stop it, or start the server once: it ends"
            " what a killed one has left."
        )
    key = {"session_id": session_id}
    db.execute(SQL["begin_erasing"], key)
    erased = len(list(db.execute(SQL["erase_events"], key | {"nothing": b""})))
    db.execute(SQL["erase_drafts"], key)
    for table in REPEATING:
        db.execute(SQL["erase_rows"].format(table=table), key)
    db.execute(SQL["note_erased_archives"], key | {"noted_at": now()})
    for table in WHOLLY:
        db.execute(SQL["erase_wholly"].format(table=table), key)
    db.execute(SQL["erase_title"], key)
    db.execute(SQL["end_erasing"], key)
    what = f"erased the content of {erased} events"
    add_read(db, AuditRead(at=now(), auditor=by, session_id=session_id, what=what), seals)
    return erased
