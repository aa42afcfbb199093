"""The libraries of all owners.

Every look takes the owners whom the asker may read: the user, and the teams that the user is in. A
document is indexed in the background, a batch of passages at a time, so that a large one holds up
neither a turn nor another document. Whoever indexes one has claimed it for a while; where its
process dies, another one goes on after that.
"""

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from turnlog.contrib.knowledge import embedding, steps
from turnlog.contrib.knowledge.document import MOST_CHARACTERS, Found
from turnlog.contrib.knowledge.meaning import Meaning
from turnlog.contrib.knowledge.passages import LONGEST, Page, Passage, passages
from turnlog.contrib.knowledge.places import Place
from turnlog.contrib.knowledge.places.sqlite import SqlitePlace
from turnlog.contrib.knowledge.ranking import combined
from turnlog.contrib.knowledge.steps import Claim, listed
from turnlog.errors import TooLarge, TurnlogError
from turnlog.events.clock import in_seconds, now
from turnlog.ports.library import Document

_log = logging.getLogger(__name__)
BATCH = 64  # passages that are indexed in one step
CANDIDATES = 40  # of each ranking
CLAIMED = 30.0  # seconds without a step after which another process may go on
LOOK_AGAIN = 5.0  # seconds, where a document waits, or may: of a server that died, or a full disk


class Library:
    """What users and teams know. It lives from `async with` on."""

    def __init__(self, place: Place | Path, *, semantic: bool | None = None) -> None:
        """`place`: a database, or the folder of one. `semantic`: whether meaning counts too; None:
        where the extra is installed."""
        self._place: Place = SqlitePlace(place) if isinstance(place, Path) else place
        self._sql = self._place.statements
        self.semantic = embedding.is_installed() if semantic is None else semantic
        self._meaning = Meaning(self._place)
        self._me = uuid.uuid4().hex
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._untidy = True  # the index may have words of what was deleted before this start
        self._open = AsyncExitStack()

    async def __aenter__(self) -> "Library":
        await self._open.enter_async_context(self._place)
        self._wake.set()
        self._indexing = asyncio.create_task(self._index(), name="turnlog-library")
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._indexing.cancel()
        with suppress(asyncio.CancelledError):
            await self._indexing
        with suppress(TurnlogError):  # else the claim runs out
            mine = {"me": self._me}
            await self._place.change(lambda db: db.execute(self._sql["release_mine"], mine))
        await self._open.aclose()

    # documents

    async def add(
        self, owner: str, title: str, pages: Sequence[Page], *, source: str, by: str
    ) -> Document:
        """Take a document in; it can be found when its `state` is ready.

        The same text under the same title is there once: adding it again gives that one.
        """
        length = sum(len(page.text) for page in pages)
        if length > MOST_CHARACTERS:
            raise TooLarge(f"A document has at most {MOST_CHARACTERS:,} characters.")
        content = msgspec.json.encode([[_storable(page.text), page.number] for page in pages])
        row = {
            "id": f"doc_{uuid.uuid4().hex}",
            "owner": owner,
            "title": _storable(title),
            "source": _storable(source),
            "passages": length // LONGEST + 1,  # at least, until they are counted
            "sha256": hashlib.sha256(content).hexdigest(),
            "added_at": now(),
            "added_by": by,
            "content": content.decode(),
        }
        document = await self._place.change(lambda db: steps.add(db, self._sql, row))
        self._idle.clear()
        self._wake.set()
        return document

    async def documents(self, owners: Collection[str]) -> list[Document]:
        return await self._place.look(lambda db: steps.documents(db, self._sql, owners))

    async def document(self, owners: Collection[str], document_id: str) -> Document:
        return await self._place.look(lambda db: steps.document(db, self._sql, owners, document_id))

    async def delete(self, owners: Collection[str], document_id: str) -> Document:
        deleted = await self._place.change(
            lambda db: steps.delete(db, self._sql, owners, document_id)
        )
        self._untidy = True
        self._idle.clear()
        self._wake.set()
        return deleted

    async def indexed(self) -> None:
        """Wait until nothing waits to be indexed, or to be forgotten."""
        await self._idle.wait()

    # finding

    async def find(
        self, owners: Collection[str], query: str, most: int = 5, *, by: str = "both"
    ) -> list[Found]:
        """The passages that answer the query best; `by`: words, meaning, or both."""
        query = _storable(query)
        if not query:  # it has no meaning either
            return []
        words: dict[int, float] = {}
        if by != "meaning":
            asked = (listed(owners), query, CANDIDATES)
            words = await self._place.look(lambda db: self._place.by_words(db, *asked))
        meaning: dict[int, float] = {}
        if by != "words" and self.semantic:
            meaning = await self._meaning.nearest(owners, query, CANDIDATES)
        known = list({**words, **meaning})
        found = await self._place.look(lambda db: steps.passages(db, self._sql, owners, known))
        texts = {each: f"{one.title} {one.text}" for each, one in found.items()}
        alone = {**words, **meaning}
        best = (
            combined(query, words, meaning, texts)
            if by == "both"
            else sorted(found, key=lambda each: -alone[each])
        )
        return [found[each] for each in best[:most]]

    # indexing

    async def _index(self) -> None:
        while True:
            self._wake.clear()
            try:
                while await self._is_waiting() and (claim := await self._claimed()):
                    await self._index_one(claim)
                if self._untidy:
                    self._untidy = False
                    await self._place.change(self._place.forget_words)
                if not await self._is_waiting() and not self._wake.is_set():
                    self._idle.set()  # nor was anything added since that look
            except TurnlogError as error:  # the database is away: it is looked for again
                _log.warning("documents cannot be indexed now: %s", type(error).__name__)
                self._untidy = True
            is_done = self._idle.is_set() and not self._place.shared
            with suppress(TimeoutError):
                async with asyncio.timeout(None if is_done else LOOK_AGAIN):
                    await self._wake.wait()

    async def _is_waiting(self) -> bool:
        return await self._place.look(lambda db: steps.is_waiting(db, self._sql))

    async def _claimed(self) -> Claim | None:
        until = in_seconds(CLAIMED)
        return await self._place.change(
            lambda db: steps.claim(db, self._sql, self._me, now(), until)
        )

    async def _index_one(self, claim: Claim) -> None:
        outcome = {"id": claim.id, "me": self._me, "state": "ready", "error": None}
        try:
            pages = [Page(*each) for each in msgspec.json.decode(claim.content)]
            found = await asyncio.to_thread(passages, pages)
            for at in range(claim.done, len(found), BATCH):
                if not await self._index_batch(claim, found, at):
                    return  # deleted, or another process has it
            if not found:
                outcome |= {"state": "failed", "error": "There is no text in it."}
        except TurnlogError:
            raise
        except Exception:
            _log.exception("a document cannot be indexed")
            outcome |= {"state": "failed", "error": "It cannot be indexed."}
        await self._place.change(lambda db: steps.finish(db, self._sql, outcome))

    async def _index_batch(self, claim: Claim, found: list[Passage], at: int) -> bool:
        batch = found[at : at + BATCH]
        vectors: Sequence[bytes | None] = [None] * len(batch)
        if self.semantic:
            texts = [f"{claim.title}. {each.heading}. {each.text}" for each in batch]
            vectors = await asyncio.to_thread(embedding.vectors, texts)
        rows = [
            {"document_id": claim.id, "place": at + n, "vector": vector, **_columns(each)}
            for n, (each, vector) in enumerate(zip(batch, vectors, strict=True))
        ]
        progress = {
            "id": claim.id,
            "me": self._me,
            "done": at + len(batch),
            "passages": len(found),
            "until": in_seconds(CLAIMED),
        }
        return await self._place.change(
            lambda db: steps.keep(db, self._place, claim.title, rows, progress)
        )


def _storable(text: str) -> str:
    """No database takes a null character or half of a pair, and nobody reads one."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _columns(passage: Passage) -> dict[str, Any]:
    return {"heading": passage.heading, "page": passage.page, "text": passage.text}
