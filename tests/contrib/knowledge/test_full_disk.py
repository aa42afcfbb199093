"""A library whose disk is full for a while."""

import asyncio

from turnlog.contrib.knowledge import library as module
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.errors import NotStored

ALICE = "user:alice"


async def test_a_document_that_could_not_be_indexed_is_once_there_is_room(tmp_path, monkeypatch):
    """Nobody has to add another one for that, or to start the server again."""
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.02)
    monkeypatch.setattr(module, "CLAIMED", 0.05)
    batch, failed = Library._index_batch, []

    async def full(self, *args):
        if len(failed) < 2:
            failed.append(args)
            raise NotStored("The disk is full.")
        return await batch(self, *args)

    monkeypatch.setattr(Library, "_index_batch", full)
    async with Library(tmp_path, semantic=False) as library:
        await library.add(ALICE, "Rules", [Page("No smoking.")], source="text", by="alice")
        async with asyncio.timeout(30):
            await library.indexed()
        assert await library.find([ALICE], "smoking")
    assert len(failed) == 2
