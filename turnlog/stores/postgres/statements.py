"""The SQL that only PostgreSQL has, and how it names its values."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from turnlog.stores.sql.statements import read_statements

SQL = read_statements("turnlog.stores.postgres")
_NAMED = re.compile(r"(?<!:):([a-z_]\w*)")


def numbered(sql: str, values: Mapping[str, Any] | Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The statement with $1, $2, ... for `:name` or `?`, and the values in that order."""
    if isinstance(values, Mapping):
        text, names = _by_name(sql)
        return text, [values[name] for name in names]
    return (_by_place(sql), values) if values else (sql, values)


@cache
def _by_name(sql: str) -> tuple[str, list[str]]:
    names = list(dict.fromkeys(_NAMED.findall(sql)))
    return _NAMED.sub(lambda match: f"${names.index(match[1]) + 1}", sql), names


@cache
def _by_place(sql: str) -> str:
    first, *rest = sql.split("?")
    return first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))
