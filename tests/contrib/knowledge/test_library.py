"""The library: found by words and by meaning, never in somebody else's documents."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.knowledge import quality
from turnlog.contrib.knowledge import library as module
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.contrib.knowledge.shelves import Shelves, read_teams
from turnlog.errors import BadInput, ConfigError, NotFound, TooLarge

ALICE, BOB = "user:alice", "user:bob"


async def add(library, owner, title, text):
    document = await library.add(owner, title, [Page(text)], source=f"text:{title}", by="test")
    await library.indexed()
    return document


async def test_a_document_is_found_and_says_where_it_stands(tmp_path):
    async with Library(tmp_path) as library:
        pages = [Page("# Rules\nNo smoking in the hall.", 1), Page("Helmets are worn.", 2)]
        await library.add(ALICE, "House rules", pages, source="file:f1", by="alice")
        await library.indexed()
        (found, *_) = await library.find([ALICE], "helmets")
    assert (found.text, found.page, found.heading) == ("Helmets are worn.", 2, "Rules")
    assert found.place == "file:f1#page=2"


async def test_progress_is_told_and_the_same_document_is_there_once(tmp_path):
    async with Library(tmp_path) as library:
        first = await add(library, ALICE, "Rules", "No smoking.")
        again = await add(library, ALICE, "Rules", "No smoking.")
        (kept,) = await library.documents([ALICE])
    assert first.state == "waiting"
    assert again.id == first.id == kept.id
    assert (kept.state, kept.done, kept.passages) == ("ready", 1, 1)


async def test_a_document_without_text_fails_and_says_so(tmp_path):
    async with Library(tmp_path) as library:
        await add(library, ALICE, "A picture", " \n ")
        (kept,) = await library.documents([ALICE])
    assert (kept.state, kept.error) == ("failed", "There is no text in it.")


async def test_what_is_deleted_is_not_found(tmp_path):
    async with Library(tmp_path) as library:
        document = await add(library, ALICE, "Rules", "No smoking.")
        await library.find([ALICE], "smoking")
        with pytest.raises(NotFound):
            await library.delete([BOB], document.id)
        await library.delete([ALICE], document.id)
        assert await library.find([ALICE], "smoking") == []
        assert await library.documents([ALICE]) == []


async def test_who_starts_again_goes_on_where_it_was(tmp_path, monkeypatch):
    """The process ends after the first batch of passages."""
    text = "\n\n".join(f"# Part {n}\nItem {n} is in shelf {n}." for n in range(150))
    ended = asyncio.Event()
    batch = Library._index_batch

    async def once(self, id, title, found, at):
        if at:
            ended.set()
            await asyncio.Event().wait()
        await batch(self, id, title, found, at)

    monkeypatch.setattr(Library, "_index_batch", once)
    async with Library(tmp_path) as library:
        await library.add(ALICE, "Shelves", [Page(text)], source="text", by="alice")
        await ended.wait()
        (half,) = await library.documents([ALICE])
        assert await library.find([ALICE], "shelf 3") == []  # nothing half-visible
    monkeypatch.setattr(Library, "_index_batch", batch)
    async with Library(tmp_path) as library:
        await library.indexed()
        (whole,) = await library.documents([ALICE])
        found = await library.find([ALICE], "shelf 140", by="words")
    assert (half.state, half.done) == ("waiting", module.BATCH)
    assert (whole.state, whole.done, whole.passages) == ("ready", 150, 150)
    assert "Item 140" in found[0].text


async def test_operators_of_full_text_search_are_words(tmp_path):
    async with Library(tmp_path) as library:
        await add(library, ALICE, "Rules", "No smoking AND no running NEAR the pool.")
        for query in ('"', "NEAR(", "smoking AND", "a* OR", "title:x", "- - -", "\x00", "*", "^x"):
            await library.find([ALICE], query)


async def test_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_DOCUMENTS", 1)
    monkeypatch.setattr(module, "MOST_CHARACTERS", 20)
    async with Library(tmp_path) as library:
        await add(library, ALICE, "one", "short")
        with pytest.raises(TooLarge):
            await add(library, ALICE, "two", "short")
        with pytest.raises(TooLarge):
            await add(library, BOB, "long", "x" * 21)


WORDS = ["duck", "goose", "hotel", "invoice", "smoke"]
USERS = ["alice", "bob", "carol"]
TEAMS = read_teams("sales: alice, bob; support: carol; all: *")


@settings(max_examples=25, deadline=None)
@given(
    documents=st.lists(
        st.tuples(st.sampled_from(USERS), st.sampled_from([None, *TEAMS]), st.sampled_from(WORDS)),
        max_size=8,
    ),
    asks=st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(WORDS)), max_size=6),
)
def test_nobody_finds_what_is_not_theirs(documents, asks):
    async def run():
        with tempfile.TemporaryDirectory() as folder:
            async with Shelves(Path(folder), TEAMS) as shelves:
                owned = await put(shelves)
                for user, word in asks:
                    mine = set(shelves.owners(user))
                    for found in await shelves.find(user, word, 50):
                        assert owned[found.title] in mine
                    assert {each.owner for each in await shelves.documents(user)} <= mine

    async def put(shelves):
        owned = {}
        for n, (user, team, word) in enumerate(documents):
            try:
                title = f"document {n}"
                pages = [(f"All about the {word}.", None)]
                document = await shelves.add(user, title, pages, source="text", team=team)
            except NotFound:
                assert user not in TEAMS[team] and "*" not in TEAMS[team]
            else:
                owned[title] = document.owner
        await shelves.library.indexed()
        return owned

    asyncio.run(run())


@pytest.mark.parametrize("text", ["sales", "sales:", ": alice", "a: b; a: c"])
def test_a_wrong_team_is_refused(text):
    with pytest.raises(ConfigError, match="no team"):
        read_teams(text)


async def test_a_document_needs_a_title():
    async with Shelves(None) as shelves:
        with pytest.raises(BadInput):
            await shelves.add("alice", " ", [("text", None)], source="text")


@pytest.mark.slow
async def test_both_rankings_together_are_best(tmp_path):
    measured = await quality.measure(tmp_path)
    words, meaning, both = (measured[way] for way in quality.WAYS)
    assert both.recall >= max(words.recall, meaning.recall) and both.recall > 0.9
    assert both.mrr > max(words.mrr, meaning.mrr)


def test_the_labelled_set_is_large_enough_and_names_documents_that_are_there():
    documents, questions = quality.documents(), quality.questions()
    assert len(documents) >= 30 and len(questions) >= 60
    assert {title for _, title in questions if title} <= documents.keys()
    assert sum(title is None for _, title in questions) >= 8
