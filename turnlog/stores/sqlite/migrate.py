"""The schema, as numbered SQL files applied once each, in order."""

import re
import sqlite3
from collections.abc import Callable
from importlib import resources

from turnlog.stores.sqlite.billing import fold_usage

_NAME = re.compile(r"(\d{4})_\w+\.sql")
# What SQL cannot do: run after a migration, in its transaction.
_AFTERWARDS: dict[int, Callable[[sqlite3.Connection], None]] = {5: fold_usage}


def migrations() -> list[tuple[int, str]]:
    """(number, SQL) of every migration that ships, in order."""
    files = resources.files("turnlog.stores.sqlite").joinpath("sql").iterdir()
    named = [(_NAME.fullmatch(file.name), file) for file in files]
    return sorted((int(match[1]), file.read_text()) for match, file in named if match)


def migrate(db: sqlite3.Connection) -> list[int]:
    """Bring the database up to date and return the numbers applied. Safe to call again."""
    applied = []
    for number, sql in migrations():
        (current,) = db.execute("PRAGMA user_version").fetchone()
        if number > current:
            db.executescript(f"BEGIN IMMEDIATE;{sql};PRAGMA user_version={number};")
            if number in _AFTERWARDS:
                _AFTERWARDS[number](db)
            db.execute("COMMIT")
            applied.append(number)
    return applied
