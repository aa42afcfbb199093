"""Migration 5: what the log says was used, folded into tables that were not there before."""

import sqlite3
from contextlib import suppress

from turnlog.errors import UnknownEvent
from turnlog.events.record import Record, stamped
from turnlog.projections import tables
from turnlog.projections.billing.charges import SUMS
from turnlog.stores.sql.statements import insert, update
from turnlog.stores.sqlite.statements import SQL


def fold_usage(db: sqlite3.Connection) -> None:
    """Write `usage` and the sums of messages anew, from the log.

    It runs inside of migration 5: a later one that changes these tables must fold anew. A row
    that cannot be read is for `turnlog verify`.
    """
    sums = update("messages", SUMS, tables.KEYS["messages"])
    for user_id, *row in db.execute(SQL["list_messages_to_fold"]):
        with suppress(ValueError, UnknownEvent):
            for write in tables.writes(user_id, stamped(Record(*row))):
                if write.table == "usage":
                    db.execute(insert("usage", tuple(write.values)), write.values)
                elif write.table == "messages":
                    db.execute(sums, write.values)
