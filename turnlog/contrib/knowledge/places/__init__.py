"""Where a library is kept: a SQLite file of one server, or the PostgreSQL of all nodes.

The steps of `steps.py` run on either; a place knows how its database finds words.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from turnlog.stores.sql.connection import Connection

T = TypeVar("T")
Row = dict[str, Any]


class Place(Protocol):
    """A database with documents and passages. It is open from `async with` on."""

    @property
    def statements(self) -> Mapping[str, str]:
        """By name, as this database takes them."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other servers work there too."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def look(self, read: Callable[[Connection], T]) -> T:
        """Carry out a step that changes nothing."""
        ...

    async def change(self, work: Callable[[Connection], T]) -> T:
        """Carry out a step as one transaction, and answer when it is on disk."""
        ...

    def keep_passage(self, db: Connection, title: str, row: Row) -> None:
        """A step: write a passage, and the words that it is found by."""
        ...

    def forget_words(self, db: Connection) -> None:
        """A step: no index has a word any more of documents that were deleted."""
        ...

    def by_words(self, db: Connection, owners: str, query: str, most: int) -> dict[int, float]:
        """A step: passages of these owners (a JSON list) that have words of the query, and how
        well each fits. More is better, and the size is that of BM25."""
        ...
