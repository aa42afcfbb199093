"""What protects the log in the database: triggers and unique indexes, as migrations make them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache

from turnlog.stores.sql.connection import Connection
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.statements import SQL


def missing_protections(db: Connection) -> Iterator[str]:
    """One sentence for each that is not there, or is not what it was."""
    found = dict(map(tuple, db.execute(SQL["list_protections"])))
    for name, sql in _made_anew():
        if name not in found:
            yield f"the protection {name!r} of the database is missing"
        elif found[name] != sql:
            yield f"the protection {name!r} of the database is not what turnlog made"


@lru_cache(maxsize=1)
def _made_anew() -> tuple[tuple[str, str], ...]:
    """As a new database has them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        return tuple(map(tuple, db.execute(SQL["list_protections"])))
