"""All SQL in one place: named statements, read once from `queries.sql`."""

from collections.abc import Iterable
from functools import cache

from turnlog.statements import read_statements

SQL = read_statements("turnlog.stores.sql")
LAST_EVENT = SQL["get_last_event"]  # for connections


@cache
def insert(table: str, columns: tuple[str, ...]) -> str:
    """Insert a row with these columns."""
    values = ", ".join(f":{name}" for name in columns)
    return SQL["insert_row"].format(table=table, columns=", ".join(columns), values=values)


@cache
def insert_in_order(table: str, columns: tuple[str, ...]) -> str:
    """The same with its values in the order of the columns: to name many takes as long again."""
    values = ", ".join("?" for _ in columns)
    return SQL["insert_row"].format(table=table, columns=", ".join(columns), values=values)


@cache
def update(
    table: str, columns: tuple[str, ...], key: tuple[str, ...], added: tuple[str, ...] = ()
) -> str:
    """Set these columns of the row with that key; those in `added` grow by the value."""
    changes = ", ".join(
        f"{name} = {name} + :{name}" if name in added else f"{name} = :{name}"
        for name in columns
        if name not in key
    )
    return SQL["update_row"].format(table=table, changes=changes, key=equal(key))


def equal(columns: Iterable[str]) -> str:
    return " AND ".join(f"{name} = :{name}" for name in columns)
