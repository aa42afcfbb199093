"""A session as another store had it, row by row: seals, numbers and ids stay as they are."""

from turnlog.ports import Evidence
from turnlog.stores.sql import sessions, turns
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.statements import insert


def restore(db: Connection, evidence: Evidence) -> None:
    """Write all of it. Raises Conflict where the session is there already."""
    db.lock(evidence.session.id)
    sessions.create(db, evidence.session)
    messages = {row["seq"]: row for row in evidence.tables["messages"]}
    for record in evidence.log:
        db.append_event(record, messages.get(record.seq))
    for table, rows in evidence.tables.items():
        for row in rows if table != "messages" else ():
            db.execute(insert(table, tuple(row)), row)
    for turn in evidence.turns:
        turns.restore(db, turn)
