"""What passages mean, remembered: the vectors of those owners who were asked about last."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from typing import NamedTuple

from turnlog.contrib.knowledge import embedding, steps
from turnlog.contrib.knowledge.places import Place

MOST_OF_ONE = 50_000  # vectors of one owner: those of the newest passages
MOST_OF_ALL = 100_000  # that are remembered; a vector has a kilobyte


class _Shelf(NamedTuple):
    version: int
    ids: list[int]
    vectors: bytes


class Meaning:
    """Finds passages by meaning. Shelves have versions: another node may add to them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._shelves: OrderedDict[str, _Shelf] = OrderedDict()

    async def nearest(self, owners: Collection[str], query: str, most: int) -> dict[int, float]:
        """Passages of these owners, and how near each is to the query."""
        sql = self._place.statements
        versions = await self._place.look(lambda db: steps.versions(db, sql, owners))
        shelves = [await self._shelf(owner, versions[owner]) for owner in versions]
        if not any(shelf.ids for shelf in shelves):
            return {}
        return await asyncio.to_thread(_nearest, query, shelves, most)

    async def _shelf(self, owner: str, version: int) -> _Shelf:
        shelf = self._shelves.get(owner)
        if shelf is None or shelf.version != version:
            sql = self._place.statements
            rows = await self._place.look(lambda db: steps.vectors(db, sql, owner, MOST_OF_ONE))
            shelf = _Shelf(version, [id for id, _ in rows], b"".join(vector for _, vector in rows))
            self._shelves[owner] = shelf
        self._shelves.move_to_end(owner)
        while len(self._shelves) > 1 and self._count() > MOST_OF_ALL:
            self._shelves.popitem(last=False)
        return shelf

    def _count(self) -> int:
        return sum(len(shelf.ids) for shelf in self._shelves.values())


def _nearest(query: str, shelves: Collection[_Shelf], most: int) -> dict[int, float]:
    (vector,) = embedding.vectors([query])
    return {
        shelf.ids[at]: score
        for shelf in shelves
        for at, score in embedding.nearest(vector, shelf.vectors, most)
    }
