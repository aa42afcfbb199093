"""The schema, as numbered SQL files applied once each, in order."""

import re
import sqlite3
from importlib import resources

_NAME = re.compile(r"(\d{4})_\w+\.sql")


def migrations() -> list[tuple[int, str]]:
    """(number, SQL) of every migration that ships, in order."""
    files = resources.files("turnlog.stores").joinpath("sql").iterdir()
    named = [(_NAME.fullmatch(file.name), file) for file in files]
    return sorted((int(match[1]), file.read_text()) for match, file in named if match)


def migrate(db: sqlite3.Connection) -> list[int]:
    """Bring the database up to date and return the numbers applied. Safe to call again."""
    applied = []
    for number, sql in migrations():
        (current,) = db.execute("PRAGMA user_version").fetchone()
        if number > current:
            db.executescript(f"BEGIN IMMEDIATE;{sql};PRAGMA user_version={number};COMMIT;")
            applied.append(number)
    return applied
