"""A library in PostgreSQL, beside the log: the same on every node.

Full-text search finds the passages, and BM25 orders them here: PostgreSQL's own ranks do not know
how rare a word is.
"""

from collections.abc import Callable
from importlib import resources
from typing import TypeVar

from turnlog.contrib.knowledge.places import Row
from turnlog.contrib.knowledge.ranking import Hit, bm25, folded, words_of
from turnlog.statements import read_statements
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sql.connection import Connection

T = TypeVar("T")
_PACKAGE = "turnlog.contrib.knowledge"
_LISTS = {
    "owners": "SELECT jsonb_array_elements_text(CAST(:owners AS jsonb))",
    "ids": "SELECT CAST(jsonb_array_elements_text(CAST(:ids AS jsonb)) AS BIGINT)",
}
_SHARED = {name: text.format(**_LISTS) for name, text in read_statements(_PACKAGE).items()}
_OWN = {name: text.format(**_LISTS) for name, text in read_statements(f"{_PACKAGE}.places").items()}
SQL = _SHARED | _OWN
CANDIDATES = 300  # passages that are ordered here


class PostgresPlace:
    """Documents in the database of a store, while that is open."""

    statements = SQL
    shared = True

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def __aenter__(self) -> "PostgresPlace":
        tables = resources.files(f"{_PACKAGE}.places").joinpath("postgres.sql")
        await self._store.make_tables(tables.read_text())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """The store closes its connections."""

    async def look(self, read: Callable[[Connection], T]) -> T:
        return await self._store.look(read)

    async def change(self, work: Callable[[Connection], T]) -> T:
        return await self._store.change(work)

    def keep_passage(self, db: Connection, title: str, row: Row) -> None:
        words = {
            "title": folded(title),
            "head": folded(row["heading"]),
            "body": folded(row["text"]),
        }
        length = sum(len(each.split()) for each in words.values())
        db.execute(SQL["keep_passage"], {**row, **words, "length": length})

    def forget_words(self, db: Connection) -> None:
        """PostgreSQL does that itself, with its autovacuum."""

    def by_words(self, db: Connection, owners: str, query: str, most: int) -> dict[int, float]:
        words = words_of(folded(query))
        if not words:
            return {}
        given = {"words": " ".join(words), "owners": owners, "most": CANDIDATES}
        hits = [Hit(*row) for row in db.execute(SQL["find_by_words"], given)]
        (passages,) = db.execute(SQL["count_passages"], {"owners": owners}).fetchone()
        scores = bm25(hits, passages)
        best = sorted(scores, key=lambda each: -scores[each])[:most]
        return {each: scores[each] for each in best}
