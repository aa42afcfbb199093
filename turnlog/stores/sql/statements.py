"""All SQL in one place: named statements, read once from `queries.sql`."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


def read_statements(package: str) -> Mapping[str, str]:
    """The statements of a package's `queries.sql` by name, without their comments."""
    text = resources.files(package).joinpath("queries.sql").read_text()
    _, *parts = _NAME.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return MappingProxyType({name: _without_comments(body) for name, body in pairs})


def _without_comments(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()


SQL = read_statements("turnlog.stores.sql")


@cache
def insert(table: str, columns: tuple[str, ...]) -> str:
    """Insert a row with these columns."""
    values = ", ".join(f":{name}" for name in columns)
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
