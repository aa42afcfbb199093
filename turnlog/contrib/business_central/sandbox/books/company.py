"""The rows of one company. Rows are never changed in place, so a copy of the tables is cheap.

The copy is how a request, or a batch, happens as a whole or not at all.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from turnlog.contrib.business_central.sandbox.schema.entities import ENTITIES
from turnlog.contrib.business_central.sandbox.schema.fields import NO_GUID, Entity
from turnlog.contrib.business_central.sandbox.schema.values import show_time

Row = dict[str, Any]
VERSION = "@version"  # kept with a row, never shown
# fmt: off
SERIES = {  # the form of a number, and the first one
    "customers":      ("C{:05d}",       10, 10),
    "vendors":        ("V{:05d}",       10, 10),
    "items":          ("{}",          1000,  1),
    "salesInvoices":  ("{}",        102001,  1),
    "postedInvoices": ("{}",        103201,  1),
    "salesOrders":    ("S-ORD{}",   101001,  1),
}
# fmt: on


class Company:
    """Tables, number series, and the row versions behind etags."""

    def __init__(self, name: str, clock: Callable[[], datetime]) -> None:
        self.name = name
        self.id = str(uuid5(NAMESPACE_URL, f"business-central/{name}"))
        self._clock = clock
        self._tables: dict[str, dict[str, Row]] = {name: {} for name in ENTITIES}
        self._used = dict.fromkeys(SERIES, 0)
        self._writes = 0  # never goes back: an etag is never used twice
        self._made = 0

    def copied(self, clock: Callable[[], datetime]) -> "Company":
        """The same company with this clock: what happens to it does not happen here."""
        copied = copy(self)
        copied._clock = clock
        copied._tables, copied._used = self._state()
        return copied

    def today(self) -> str:
        return self._clock().date().isoformat()

    def rows(self, entity: Entity) -> list[Row]:
        return _in_order(entity, self._tables[entity.name].values())

    def get(self, entity: Entity, id: str) -> Row | None:
        return self._tables[entity.name].get(id)

    def find(self, entity: Entity, **wanted: Any) -> Row | None:
        """One row with these values."""
        rows = self._tables[entity.name].values()
        return next((r for r in rows if all(r[name] == v for name, v in wanted.items())), None)

    def lines(self, document: Entity, id: str) -> list[Row]:
        entity = ENTITIES[document.lines]
        lines = self._tables[entity.name].values()
        return _in_order(entity, [row for row in lines if row["documentId"] == id])

    def put(self, entity: Entity, row: Row) -> Row:
        """Write a row, new or old. It gets a new version, and so a new etag."""
        self._writes += 1
        written = row | {VERSION: self._writes}
        if "lastModifiedDateTime" in entity.fields:
            written["lastModifiedDateTime"] = show_time(self._clock())
        self._tables[entity.name][row["id"]] = written
        return written

    def remove(self, entity: Entity, id: str) -> None:
        del self._tables[entity.name][id]

    def new_id(self) -> str:
        self._made += 1
        return str(uuid5(NAMESPACE_URL, f"{self.id}/{self._made}"))

    def next_number(self, series: str, entity: Entity) -> str:
        form, first, step = SERIES[series]
        while True:
            number = form.format(first + step * self._used[series])
            self._used[series] += 1
            if self.find(entity, number=number) is None:
                return number

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """An exception undoes every change."""
        before = self._state()
        try:
            yield
        except BaseException:
            self._tables, self._used = before
            raise

    def _state(self) -> tuple[dict[str, dict[str, Row]], dict[str, int]]:
        """A copy of the tables and of the numbers that are used."""
        return {name: dict(table) for name, table in self._tables.items()}, dict(self._used)


def _in_order(entity: Entity, rows: Iterable[Row]) -> list[Row]:
    """Ordered by the field that people name them by; lines, document by document."""
    fields = ("documentId", entity.key) if entity.document else (entity.key,)
    return sorted(rows, key=itemgetter(*fields))


def etag(row: Row) -> str:
    """The row's etag: opaque and weak, in the form that Business Central uses."""
    digest = hashlib.sha256(f"{row['id']}/{row.get(VERSION, 0)}".encode()).digest()
    number = int.from_bytes(digest[:8])
    inner = base64.b64encode(f"'20;{number}1;00;'".encode()).decode()
    return f'W/"{inner}"'


def linked(company: Company, target: str, id: str) -> Row | None:
    return None if id == NO_GUID else company.get(ENTITIES[target], id)
