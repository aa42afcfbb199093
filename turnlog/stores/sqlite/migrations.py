"""The schema, as numbered SQL files applied once each, in order."""

import re
import sqlite3
from collections.abc import Callable, Mapping
from importlib import resources

from turnlog.errors import StoreUnusable
from turnlog.stores.sqlite.folding import fold_usage
from turnlog.stores.sqlite.statements import SQL

Step = Callable[[sqlite3.Connection], None]
_NAME = re.compile(r"(\d{4})_\w+\.sql")
# What SQL cannot do: run after a migration, in its transaction.
_AFTERWARDS: Mapping[int, Step] = {5: fold_usage}


def migrations(package: str = "turnlog.stores.sqlite") -> list[tuple[int, str]]:
    """(number, SQL) of every migration that ships with the package, in order."""
    files = resources.files(package).joinpath("sql").iterdir()
    named = [(_NAME.fullmatch(file.name), file) for file in files]
    return sorted((int(match[1]), file.read_text()) for match, file in named if match)


def migrate(
    db: sqlite3.Connection,
    package: str = "turnlog.stores.sqlite",
    afterwards: Mapping[int, Step] = _AFTERWARDS,
) -> list[int]:
    """Bring the database up to date and return the numbers applied. Safe to call again.

    Raises StoreUnusable where a newer program has written it.
    """
    applied = []
    known = migrations(package)
    refuse_newer(db, known[-1][0])
    for number, sql in known:
        if number > version(db):
            db.executescript(SQL["migrate"].format(sql=sql, number=number))
            if number in afterwards:
                afterwards[number](db)
            db.execute(SQL["commit"])
            applied.append(number)
    return applied


def version(db: sqlite3.Connection) -> int:
    """The number of the last migration that was applied."""
    (number,) = db.execute(SQL["get_version"]).fetchone()
    return int(number)


def refuse_newer(db: sqlite3.Connection, known: int) -> None:
    """A program that does not know what is in there must not write to it, nor explain it."""
    if (number := version(db)) > known:
        raise StoreUnusable(
            f"The database has schema {number}, and this version of turnlog knows {known}: a"
            " newer version has written it. Install that version, or name another --data folder."
        )
