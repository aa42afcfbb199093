"""The parts of an entity: its fields, and the links from its fields to other entities.

A table of fields is text with one field per line: its name and its kind. `*` means read-only.
Kinds with a length are `text100` and `code20`; a code is kept in capitals.
"""

import re
from dataclasses import dataclass, field

NO_GUID = "00000000-0000-0000-0000-000000000000"
NO_DATE = "0001-01-01"
NO_TIME = "0001-01-01T00:00:00Z"


@dataclass(frozen=True)
class Field:
    """One property of an entity."""

    name: str
    kind: str  # text, code, guid, decimal, integer, boolean, date, datetime, option
    length: int = 0
    options: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True)
class Link:
    """Fields that name a row of another entity: by its id, by its code, or both."""

    navigation: str  # what `$expand` calls it
    target: str  # the entity's name
    id_field: str
    code_field: str = ""
    local: str = ""  # a code that stands for none: the local currency
    name_field: str = ""  # shows the other row's displayName


@dataclass(frozen=True)
class Entity:
    """A kind of record: what the API calls it, what it holds, and what may be done to it."""

    name: str  # customer, as in Microsoft.NAV.customer
    set: str  # customers
    caption: str  # Customer, in messages
    fields: dict[str, Field]
    key: str = "number"  # the field by which people name a row
    series: str = ""  # number series for new rows
    links: tuple[Link, ...] = ()
    lines: str = ""  # the entity of its lines
    document: str = ""  # of a line: the entity it belongs to
    actions: tuple[str, ...] = ()
    changeable: bool = True
    required: tuple[str, ...] = field(default=())

    def link(self, navigation: str) -> Link | None:
        return next((link for link in self.links if link.navigation == navigation), None)

    @property
    def key_caption(self) -> str:
        return {"number": "No.", "code": "Code"}.get(self.key, self.key)


_KIND = re.compile(r"(text|code)(\d+)$")


def read_fields(table: str) -> dict[str, Field]:
    lines = [_read_line(line.split(None, 1)) for line in table.splitlines() if line.strip()]
    return {each.name: each for each in lines}


def _read_line(parts: list[str]) -> Field:
    name, kind = parts[0], parts[1].strip()
    read_only = kind.endswith("*")
    kind = kind.rstrip("* ")
    if sized := _KIND.match(kind):
        return Field(name, sized[1], int(sized[2]), read_only=read_only)
    kind, _, options = kind.partition(":")
    values = tuple(option or " " for option in options.split("|")) if options else ()
    return Field(name, kind, options=values, read_only=read_only)
