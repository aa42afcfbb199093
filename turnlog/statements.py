"""SQL by name: statements in a file `queries.sql`, and how PostgreSQL numbers their values."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


def read_statements(package: str) -> Mapping[str, str]:
    """The statements of a package's `queries.sql` by name, without their comments."""
    text = resources.files(package).joinpath("queries.sql").read_text()
    _, *parts = _NAME.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return MappingProxyType({name: _without_comments(body) for name, body in pairs})


def _without_comments(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()


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
