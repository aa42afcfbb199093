"""Migration 5: what the log says was used, folded into a table that was not there before."""

import sqlite3
from contextlib import suppress

from turnlog.errors import UnknownEvent
from turnlog.events.rows.record import Record, stamped
from turnlog.projections import tables
from turnlog.stores.sql.statements import insert
from turnlog.stores.sqlite.statements import SQL


def fold_usage(db: sqlite3.Connection) -> None:
    """Write `usage` anew, from the log.

    It runs inside of migration 5: a later one that changes this table must fold anew, or cope
    with rows of today, as migration 19 does, which drops `reported`. A row that cannot be read is
    for `turnlog verify`.
    """
    for user_id, *row in db.execute(SQL["list_messages_to_fold"]):
        with suppress(ValueError, UnknownEvent):
            for write in tables.writes(user_id, stamped(Record(*row))):
                if write.table == "usage":
                    values = write.values | {"reported": ""}
                    db.execute(insert("usage", tuple(values)), values)
