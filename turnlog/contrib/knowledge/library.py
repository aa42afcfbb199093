"""The libraries of all owners, in a SQLite file of their own beside the log.

Every look takes the owners whom the asker may read: the user, and the teams that the user is in. A
document is indexed in the background, a batch of passages at a time, so that a large one holds up
neither a turn nor another document; whoever starts again after a crash goes on where it was.
"""

import asyncio
import hashlib
import json
import logging
import sqlite3
import uuid
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from turnlog.contrib.knowledge import embedding
from turnlog.contrib.knowledge.document import MOST_CHARACTERS, MOST_DOCUMENTS, Found
from turnlog.contrib.knowledge.passages import Page, Passage, passages
from turnlog.contrib.knowledge.ranking import combined, match_expression
from turnlog.errors import NotFound, StoreUnusable, TooLarge
from turnlog.events.clock import now
from turnlog.ports.library import Document
from turnlog.statements import read_statements
from turnlog.stores.sqlite.files import connect, connect_reader, make_private
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.owners import alone
from turnlog.stores.sqlite.readers import Readers
from turnlog.stores.sqlite.writer import Writer

_PACKAGE = "turnlog.contrib.knowledge"
_log = logging.getLogger(__name__)
SQL = read_statements(_PACKAGE)
BATCH = 64  # passages that are indexed in one step
CANDIDATES = 40  # of each ranking


class Library:
    """What users and teams know. It lives from `async with` on."""

    def __init__(self, folder: Path, *, semantic: bool | None = None) -> None:
        """`semantic`: whether meaning counts too; None: where the extra is installed."""
        self._folder = folder
        self._path = folder / "knowledge.db"
        self.semantic = embedding.is_installed() if semantic is None else semantic
        self._vectors: dict[str, tuple[list[int], list[bytes]]] = {}  # by owner
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()

    async def __aenter__(self) -> "Library":
        try:
            make_private(self._path)
            with alone(self._folder / "opening.lock"), closing(connect(self._path)) as db:
                migrate(db, _PACKAGE, {})
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreUnusable(f"The library in {str(self._folder)!r}: {error}.") from error
        self._writer = Writer(connect(self._path))
        self._readers = Readers(partial(connect_reader, self._path))
        self._wake.set()
        self._indexing = asyncio.create_task(self._index(), name="turnlog-library")
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._indexing.cancel()
        with suppress(asyncio.CancelledError):
            await self._indexing
        await asyncio.to_thread(self._writer.close)
        self._readers.close()

    # documents

    async def add(
        self, owner: str, title: str, pages: Sequence[Page], *, source: str, by: str
    ) -> Document:
        """Take a document in; it can be found when its `state` is ready.

        The same text under the same title is there once: adding it again gives that one.
        """
        if sum(len(page.text) for page in pages) > MOST_CHARACTERS:
            raise TooLarge(f"A document has at most {MOST_CHARACTERS:,} characters.")
        content = msgspec.json.encode([[page.text, page.number] for page in pages])
        row = {
            "id": f"doc_{uuid.uuid4().hex}",
            "owner": owner,
            "title": title,
            "source": source,
            "sha256": hashlib.sha256(content).hexdigest(),
            "added_at": now(),
            "added_by": by,
            "content": content.decode(),
        }
        document = await self._writer.run(lambda db: _add(db, row))
        self._idle.clear()
        self._wake.set()
        return document

    async def documents(self, owners: Collection[str]) -> list[Document]:
        given = {"owners": _json(owners)}
        return await self._readers.run(
            lambda db: [_document(row) for row in db.execute(SQL["list_documents"], given)]
        )

    async def document(self, owners: Collection[str], document_id: str) -> Document:
        given = {"owners": _json(owners), "id": document_id}
        row = await self._readers.run(lambda db: db.execute(SQL["get_document"], given).fetchone())
        if row is None:
            raise NotFound("There is no such document.")
        return _document(row)

    async def delete(self, owners: Collection[str], document_id: str) -> Document:
        document = await self.document(owners, document_id)
        given = {"owners": _json(owners), "id": document_id}
        await self._writer.run(lambda db: db.execute(SQL["delete_document"], given))
        self._vectors.pop(document.owner, None)
        return document

    async def indexed(self) -> None:
        """Wait until nothing waits to be indexed."""
        await self._idle.wait()

    # finding

    async def find(
        self, owners: Collection[str], query: str, most: int = 5, *, by: str = "both"
    ) -> list[Found]:
        """The passages that answer the query best; `by`: words, meaning, or both."""
        words = await self._by_words(owners, query) if by != "meaning" else {}
        by_meaning = by != "words" and self.semantic
        meaning = await self._by_meaning(owners, query) if by_meaning else {}
        best = combined(words, meaning)[:most]
        given = {"ids": json.dumps(best), "owners": _json(owners)}
        rows = await self._readers.run(lambda db: db.execute(SQL["get_passages"], given).fetchall())
        found = {row[0]: _found(row) for row in rows}
        return [found[each] for each in best if each in found]

    async def _by_words(self, owners: Collection[str], query: str) -> dict[int, float]:
        match = match_expression(query)
        if match is None:
            return {}
        given = {"match": match, "owners": _json(owners), "most": CANDIDATES}
        rows = await self._readers.run(
            lambda db: db.execute(SQL["find_by_words"], given).fetchall()
        )
        return {id: -score for id, score in rows}  # FTS5 counts downwards

    async def _by_meaning(self, owners: Collection[str], query: str) -> dict[int, float]:
        ids: list[int] = []
        known: list[bytes] = []
        for owner in owners:
            if owner not in self._vectors:
                rows = await self._readers.run(partial(_vectors_of, owner))
                self._vectors[owner] = ([id for id, _ in rows], [vector for _, vector in rows])
            ids, known = ids + self._vectors[owner][0], known + self._vectors[owner][1]
        best = await asyncio.to_thread(embedding.nearest, query, known, CANDIDATES)
        return {ids[at]: score for at, score in best}

    # indexing

    async def _index(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (waiting := await self._readers.run(_next_waiting)) is not None:
                await self._index_one(*waiting)
            self._idle.set()

    async def _index_one(self, id: str, title: str, content: str, done: int) -> None:
        state, error = "ready", None
        try:
            pages = [Page(*each) for each in msgspec.json.decode(content)]
            found = await asyncio.to_thread(passages, pages)
            for at in range(done, len(found), BATCH):
                await self._index_batch(id, title, found, at)
            if not found:
                state, error = "failed", "There is no text in it."
        except Exception:
            _log.exception("a document cannot be indexed")
            state, error = "failed", "It cannot be indexed."
        await self._writer.run(
            lambda db: db.execute(SQL["finish"], {"id": id, "state": state, "error": error})
        )
        self._vectors.clear()  # a new document may be anybody's; they are read again when asked

    async def _index_batch(self, id: str, title: str, found: list[Passage], at: int) -> None:
        batch = found[at : at + BATCH]
        texts = [f"{title}. {each.heading}. {each.text}" for each in batch]
        vectors: Sequence[bytes | None] = [None] * len(batch)
        if self.semantic:
            vectors = await asyncio.to_thread(embedding.vectors, texts)
        rows = [
            {"document_id": id, "place": at + n, "vector": vector, **_columns(each)}
            for n, (each, vector) in enumerate(zip(batch, vectors, strict=True))
        ]
        progress = {"id": id, "done": at + len(batch), "passages": len(found)}
        await self._writer.run(lambda db: _keep(db, title, rows, progress))


def _columns(passage: Passage) -> dict[str, Any]:
    return {"heading": passage.heading, "page": passage.page, "text": passage.text}


def _json(owners: Collection[str]) -> str:
    return json.dumps(sorted(owners))


def _add(db: sqlite3.Connection, row: dict[str, str]) -> Document:
    (count,) = db.execute(SQL["count_documents"], row).fetchone()
    if count >= MOST_DOCUMENTS:
        raise TooLarge(f"There are {MOST_DOCUMENTS:,} documents already: delete some first.")
    db.execute(SQL["keep_document"], row)
    return _document(db.execute(SQL["same_document"], row).fetchone())


def _keep(
    db: sqlite3.Connection, title: str, rows: list[dict[str, Any]], progress: dict[str, Any]
) -> None:
    for row in rows:
        id = db.execute(SQL["keep_passage"], row).lastrowid
        db.execute(SQL["keep_words"], row | {"id": id, "title": title})
    db.execute(SQL["advance"], progress)


def _next_waiting(db: sqlite3.Connection) -> tuple[str, str, str, int] | None:
    row: tuple[str, str, str, int] | None = db.execute(SQL["next_waiting"]).fetchone()
    return row


def _vectors_of(owner: str, db: sqlite3.Connection) -> list[tuple[int, bytes]]:
    return db.execute(SQL["list_vectors"], {"owner": owner}).fetchall()


def _document(row: tuple[Any, ...]) -> Document:
    return Document(**dict(zip(Document.__struct_fields__, row, strict=True)))


def _found(row: tuple[Any, ...]) -> Found:
    return Found(**dict(zip(Found.__struct_fields__, row[:7], strict=True)))
