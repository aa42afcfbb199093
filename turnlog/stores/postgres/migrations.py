"""The schema, as numbered SQL files, each with its way back.

A line `-- needs: N` says which programs may go on working while the change is there: those that
know schema N. So old and new nodes run side by side, and a program that is too old is refused.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, NamedTuple, TypeVar

from turnlog.errors import StoreUnusable
from turnlog.stores.postgres.statements import SQL, numbered

T = TypeVar("T")
LONGEST = 600.0  # seconds that a node waits for another one that migrates
_NAME = re.compile(r"(\d{4})_(\w+?)(\.back)?\.sql")
_NEEDS = re.compile(r"^-- needs: (\d+)$", re.MULTILINE)


class Migration(NamedTuple):
    """One change of the schema, and how it is taken back."""

    number: int
    sql: str
    back: str

    @property
    def needs(self) -> int:
        """The oldest program that works with it; by default none that does not know it."""
        found = _NEEDS.search(self.sql)
        return int(found[1]) if found else self.number


def migrations(package: str = "turnlog.stores.postgres") -> list[Migration]:
    texts: dict[int, dict[bool, str]] = {}
    for file in resources.files(package).joinpath("sql").iterdir():
        if match := _NAME.fullmatch(file.name):
            texts.setdefault(int(match[1]), {})[bool(match[3])] = file.read_text()
    return [Migration(number, both[False], both[True]) for number, both in sorted(texts.items())]


async def migrate(db: Any) -> list[int]:
    """Bring the database up to date, one process at a time; the numbers that were applied.

    Raises StoreUnusable where a newer program has written it that this one cannot work with.
    """

    async def apply() -> list[int]:
        await db.execute(SQL["make_schema"])
        newest = await refuse_newer(db)
        applied = [change for change in migrations() if change.number > newest]
        for change in applied:
            async with db.transaction():
                await db.execute(change.sql)
                await _note(db, "add_schema", {"number": change.number, "needs": change.needs})
        return [change.number for change in applied]

    return await alone(db, apply)


async def go_back(db: Any, to: int) -> list[int]:
    """Take changes back, newest first, until schema `to`; the numbers that were taken back."""

    async def take_back() -> list[int]:
        newest = await refuse_newer(db)
        gone = [change for change in reversed(migrations()) if to < change.number <= newest]
        for change in gone:
            async with db.transaction():
                await db.execute(change.back)
                await _note(db, "drop_schema", {"number": change.number})
        return [change.number for change in gone]

    return await alone(db, take_back)


async def alone(db: Any, work: Callable[[], Awaitable[T]]) -> T:
    """Of several nodes that change tables one does it at a time, and the others wait."""
    await db.execute(SQL["lock_schema"], timeout=LONGEST)
    try:
        return await work()
    finally:
        await db.execute(SQL["unlock_schema"])


async def refuse_newer(db: Any) -> int:
    """The newest change that is there; 0 where nothing is."""
    if not (await db.fetchrow(SQL["has_schema"]))[0]:
        return 0
    newest, needs = await db.fetchrow(SQL["get_schema"])
    known = migrations()[-1].number
    if needs > known:
        raise StoreUnusable(
            f"The database has schema {newest}, and this version of turnlog knows {known}: a"
            " newer version has written it. Install that version, or name another database."
        )
    return int(newest)


async def refuse_foreign(db: Any) -> None:
    """Raises StoreUnusable where the schema has our number, and is another one."""
    given, takes = SQL["write_turn"].count("$"), await db.fetchval(SQL["count_arguments"])
    if takes != given:
        found = "is missing" if takes is None else f"takes {takes} values instead of {given}"
        raise StoreUnusable(
            f"The function write_turn of the database {found}: its schema was changed by hand, or"
            " made by an unreleased version of turnlog. Restore a dump, or name another database."
        )


async def _note(db: Any, statement: str, values: Mapping[str, int]) -> None:
    text, arguments = numbered(SQL[statement], values)
    await db.execute(text, *arguments)
