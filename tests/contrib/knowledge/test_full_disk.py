"""A library and its disk: nobody fills it alone, and where it is full, that passes."""

import asyncio

import pytest

from turnlog.contrib.knowledge import library as module
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.errors import NotStored, TooLarge

ALICE = "user:alice"


async def test_the_same_text_under_many_titles_does_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("turnlog.contrib.knowledge.steps.MOST_PASSAGES", 25)
    text = [Page("word " * 1800)]  # ten passages
    async with Library(tmp_path, semantic=False) as library:
        for title in ("a", "b"):  # the second comes before the first is indexed
            await library.add(ALICE, title, text, source="text", by="alice")
        for _ in range(2):
            with pytest.raises(TooLarge, match="too much in the documents"):
                await library.add(ALICE, "c", text, source="text", by="alice")
            await library.indexed()
        await library.add("user:bob", "c", text, source="text", by="bob")
        await library.delete([ALICE], (await library.documents([ALICE]))[0].id)
        await library.add(ALICE, "c", text, source="text", by="alice")


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
