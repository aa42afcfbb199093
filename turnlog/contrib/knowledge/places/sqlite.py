"""A library in a SQLite file of its own, with FTS5."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

from turnlog.contrib.knowledge.places import Row
from turnlog.contrib.knowledge.ranking import spaced, words_of
from turnlog.errors import StoreUnusable
from turnlog.statements import read_statements
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sqlite.files import connect, connect_reader, make_private
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.owners import alone
from turnlog.stores.sqlite.readers import Readers
from turnlog.stores.sqlite.writer import Writer

T = TypeVar("T")
_PACKAGE = "turnlog.contrib.knowledge"
_LISTS = {name: f"SELECT value FROM json_each(:{name})" for name in ("owners", "ids")}
SQL = {name: text.format(**_LISTS) for name, text in read_statements(_PACKAGE).items()}


class SqlitePlace:
    """`knowledge.db` in a folder. One server to a folder."""

    statements = SQL
    shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "knowledge.db"

    async def __aenter__(self) -> "SqlitePlace":
        try:
            make_private(self._path)
            with alone(self._folder / "opening.lock"), closing(connect(self._path)) as db:
                migrate(db, _PACKAGE, {})
                db.execute(SQL["release_claims"])  # whoever had one is dead
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreUnusable(f"The library in {str(self._folder)!r}: {error}.") from error
        self._writer = Writer(connect(self._path))
        self._readers = Readers(partial(connect_reader, self._path))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.close()

    async def look(self, read: Callable[[Connection], T]) -> T:
        return await self._readers.run(read)

    async def change(self, work: Callable[[Connection], T]) -> T:
        return await self._writer.run(work)

    def keep_passage(self, db: Connection, title: str, row: Row) -> None:
        (id,) = db.execute(SQL["keep_passage"], row).fetchone()
        words = {"title": spaced(title), "heading": spaced(row["heading"])}
        db.execute(SQL["keep_words"], {"id": id, "text": spaced(row["text"]), **words})

    def forget_words(self, db: Connection) -> None:
        db.execute(SQL["forget_words"])

    def by_words(self, db: Connection, owners: str, query: str, most: int) -> dict[int, float]:
        match = " OR ".join(f'"{word}"' for word in words_of(query))
        if not match:
            return {}
        rows = db.execute(SQL["find_by_words"], {"match": match, "owners": owners, "most": most})
        return {id: -score for id, score in rows}  # FTS5 counts downwards
