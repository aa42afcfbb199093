"""The schema, as numbered SQL files applied once each, in order."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
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

    As many as can share a transaction do: each commit waits for the disk, and a new database
    would wait for all of them. Raises StoreUnusable where a newer program has written it.
    """
    known = migrations(package)
    refuse_newer(db, known[-1][0])
    present = version(db)
    missing = [each for each in known if each[0] > present]
    for group in _groups(missing, afterwards):
        number = group[-1][0]
        sql = ";\n".join(sql for _, sql in group)
        db.executescript(SQL["migrate"].format(sql=sql, number=number))
        if number in afterwards:
            afterwards[number](db)
        db.execute(SQL["commit"])
    return [number for number, _ in missing]


def _groups(
    missing: list[tuple[int, str]], afterwards: Mapping[int, Step]
) -> Iterator[list[tuple[int, str]]]:
    """Each ends with a migration that has a step after it, or with the last one."""
    group: list[tuple[int, str]] = []
    for number, sql in missing:
        group.append((number, sql))
        if number in afterwards or number == missing[-1][0]:
            yield group
            group = []


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
