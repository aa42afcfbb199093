"""The library: found by words and by meaning, never in somebody else's documents."""

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.knowledge import quality
from turnlog.contrib.knowledge import library as module
from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.contrib.knowledge.places.postgres import PostgresPlace
from turnlog.contrib.knowledge.shelves import Shelves, read_teams
from turnlog.errors import BadInput, ConfigError, NotFound, TooLarge
from turnlog.stores.postgres.store import PostgresStore

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]
ALICE, BOB = "user:alice", "user:bob"


async def add(library, owner, title, text):
    document = await library.add(owner, title, [Page(text)], source=f"text:{title}", by="test")
    await library.indexed()
    return document


@pytest.fixture(params=DATABASES)
def opened(request, tmp_path):
    """A function: each call is one more library at the same place."""
    if request.param == "sqlite":
        return lambda: Library(tmp_path)
    return partial(at_postgres, request.getfixturevalue("database"))


@pytest.fixture
def nodes(database, monkeypatch):
    """The same, as several processes have it at once; none waits long for another."""
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.02)
    return partial(at_postgres, database)


@asynccontextmanager
async def at_postgres(url):
    store = PostgresStore(url)
    await store.open()
    try:
        async with Library(PostgresPlace(store)) as library:
            yield library
    finally:
        await store.close()


async def test_a_document_is_found_and_says_where_it_stands(opened):
    async with opened() as library:
        pages = [Page("# Rules\nNo smoking in the hall.", 1), Page("Helmets are worn.", 2)]
        await library.add(ALICE, "House rules", pages, source="file:f1", by="alice")
        await library.indexed()
        (found, *_) = await library.find([ALICE], "helmets")
    assert (found.text, found.page, found.heading) == ("Helmets are worn.", 2, "Rules")
    assert found.place == "file:f1#page=2"


async def test_progress_is_told_and_the_same_document_is_there_once(opened):
    async with opened() as library:
        first = await add(library, ALICE, "Rules", "No smoking.")
        again = await add(library, ALICE, "Rules", "No smoking.")
        (kept,) = await library.documents([ALICE])
    assert first.state == "waiting"
    assert again.id == first.id == kept.id
    assert (kept.state, kept.done, kept.passages) == ("ready", 1, 1)


async def test_what_is_added_while_the_library_looks_for_work_is_waited_for(tmp_path):
    library = Library(tmp_path)
    look, looked, added = library._is_waiting, [], asyncio.Event()

    async def late():
        looked.append(await look())
        if len(looked) == 2:  # it has found nothing twice, and is about to say so
            await added.wait()
        return looked[-1]

    library._is_waiting = late
    async with asyncio.timeout(60), library:
        while len(looked) < 2:
            await asyncio.sleep(0)
        adding = asyncio.create_task(add(library, ALICE, "Rules", "No smoking."))
        while not library._wake.is_set():
            await asyncio.sleep(0)
        added.set()
        await adding
        (kept,) = await library.documents([ALICE])
    assert kept.state == "ready"


async def test_a_document_without_text_fails_and_says_so(opened):
    async with opened() as library:
        await add(library, ALICE, "A picture", " \n ")
        (kept,) = await library.documents([ALICE])
    assert (kept.state, kept.error) == ("failed", "There is no text in it.")


async def test_what_is_deleted_is_not_found(opened):
    async with opened() as library:
        document = await add(library, ALICE, "Rules", "No smoking.")
        await library.find([ALICE], "smoking")
        with pytest.raises(NotFound):
            await library.delete([BOB], document.id)
        await library.delete([ALICE], document.id)
        assert await library.find([ALICE], "smoking") == []
        assert await library.documents([ALICE]) == []


async def test_who_starts_again_goes_on_where_it_was(opened, monkeypatch):
    """The process ends after the first batch of passages."""
    text = "\n\n".join(f"# Part {n}\nItem {n} is in shelf {n}." for n in range(150))
    ended = asyncio.Event()
    batch = Library._index_batch

    async def once(self, claim, found, at):
        if at:
            ended.set()
            await asyncio.Event().wait()
        return await batch(self, claim, found, at)

    monkeypatch.setattr(Library, "_index_batch", once)
    async with opened() as library:
        await library.add(ALICE, "Shelves", [Page(text)], source="text", by="alice")
        await ended.wait()
        (half,) = await library.documents([ALICE])
        assert await library.find([ALICE], "shelf 3") == []  # nothing half-visible
    monkeypatch.setattr(Library, "_index_batch", batch)
    async with opened() as library:
        await library.indexed()
        (whole,) = await library.documents([ALICE])
        found = await library.find([ALICE], "shelf 140", by="words")
    assert (half.state, half.done) == ("waiting", module.BATCH)
    assert (whole.state, whole.done, whole.passages) == ("ready", 150, 150)
    assert "Item 140" in found[0].text


async def test_operators_of_full_text_search_are_words(opened):
    async with opened() as library:
        await add(library, ALICE, "Rules", "No smoking AND no running NEAR the pool.")
        for query in ('"', "NEAR(", "smoking AND", "a* OR", "title:x", "- - -", "\x00", "*", "^x"):
            await library.find([ALICE], query)
        assert await library.find([ALICE], "smoking \ud800")  # half of a pair


async def test_limits(opened, monkeypatch):
    monkeypatch.setattr("turnlog.contrib.knowledge.steps.MOST_DOCUMENTS", 1)
    monkeypatch.setattr(module, "MOST_CHARACTERS", 20)
    async with opened() as library:
        await add(library, ALICE, "one", "short")
        with pytest.raises(TooLarge):
            await add(library, ALICE, "two", "short")
        with pytest.raises(TooLarge):
            await add(library, BOB, "long", "x" * 21)


@pytest.mark.slow
async def test_what_another_process_adds_and_deletes_is_seen(nodes):
    """Vectors are remembered here; the other one changes what they are of."""
    async with nodes() as mine:
        await add(mine, ALICE, "Rules", "Helmets are worn in the hall.")
        assert len(await mine.find([ALICE], "protection of the head", by="meaning")) == 1
        async with nodes() as theirs:
            more = await add(theirs, ALICE, "More rules", "Gloves are worn at the saw.")
            assert len(await mine.find([ALICE], "protection of hands", by="meaning")) == 2
            await theirs.delete([ALICE], more.id)
        assert len(await mine.find([ALICE], "protection of hands", by="meaning")) == 1


@pytest.mark.slow
async def test_a_document_is_indexed_once_however_many_processes_there_are(nodes):
    async with nodes() as one, nodes() as other:
        titles = [f"Part {n}" for n in range(12)]
        for n, title in enumerate(titles):
            text = f"The {title} is in shelf {n}."
            await (one, other)[n % 2].add(ALICE, title, [Page(text)], source="text", by="alice")
        await asyncio.gather(one.indexed(), other.indexed())
        kept = await one.documents([ALICE])
        assert {each.title: (each.state, each.done) for each in kept} == dict.fromkeys(
            titles, ("ready", 1)
        )
        assert len(await one.find([ALICE], "shelf", 50, by="words")) == 12


@pytest.mark.slow
async def test_who_lost_its_claim_writes_nothing_more(nodes, monkeypatch):
    """The first hangs in the middle, its claim runs out, the second one does the rest."""
    text = "\n\n".join(f"# Part {n}\nItem {n} is in shelf {n}." for n in range(150))
    hangs, goes_on = asyncio.Event(), asyncio.Event()
    batch = Library._index_batch
    first = []

    async def hanging(self, claim, found, at):
        if at and self is first[0]:
            hangs.set()
            await goes_on.wait()
        return await batch(self, claim, found, at)

    monkeypatch.setattr(Library, "_index_batch", hanging)
    monkeypatch.setattr(module, "CLAIMED", 0.0)
    async with nodes() as slow:
        first.append(slow)
        await slow.add(ALICE, "Shelves", [Page(text)], source="text", by="alice")
        await hangs.wait()
        async with nodes() as other:
            await other.indexed()
            goes_on.set()
            await slow.indexed()
            (whole,) = await other.documents([ALICE])
            assert (whole.state, whole.done) == ("ready", 150)
            assert len(await other.find([ALICE], "Item", 500, by="words")) == 40


KILLED = """
import asyncio, sys
from turnlog.contrib.knowledge import library
from turnlog.contrib.knowledge.places.postgres import PostgresPlace
from turnlog.stores.postgres.store import PostgresStore

batch = library.Library._index_batch
library.CLAIMED = 0.1

async def once(self, claim, found, at):
    if at:
        print("half", flush=True)
        await asyncio.Event().wait()
    return await batch(self, claim, found, at)

async def main():
    library.Library._index_batch = once
    store = PostgresStore(sys.argv[1])
    await store.open()
    text = "\\n\\n".join(f"# Part {n}\\nItem {n} is in shelf {n}." for n in range(150))
    async with library.Library(PostgresPlace(store), semantic=False) as mine:
        await mine.add("user:alice", "Shelves", [library.Page(text)], source="text", by="alice")
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_another_node_goes_on_after_a_kill(nodes, database):
    command = (sys.executable, "-c", KILLED, database)
    node = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert await node.stdout.readline() == b"half\n"
    node.kill()
    await node.wait()
    async with nodes() as other:
        await other.indexed()
        (whole,) = await other.documents([ALICE])
        (found, *_) = await other.find([ALICE], "shelf 140", by="words")
    assert (whole.state, whole.done, whole.passages) == ("ready", 150, 150)
    assert "Item 140" in found.text


async def test_signs_that_no_database_takes_are_left_out(opened):
    async with opened() as library:
        await add(library, ALICE, "Zero\0", "A\0 hotel \ud800 night. É-mail: x_4711-12")
        (kept,) = await library.documents([ALICE])
        assert (kept.title, kept.state) == ("Zero", "ready")
        for word in ("hotel", "4711", "12", "email mail", "nights"):
            assert len(await library.find([ALICE], word, by="words")) == 1, word


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
async def test_both_rankings_together_are_best(opened):
    async with opened() as library:
        measured = await quality.measure(library)
    words, meaning, both = (measured["all"][way] for way in quality.WAYS)
    assert both.recall > max(words.recall, meaning.recall) and both.mrr > 0.75
    assert both.mrr > max(words.mrr, meaning.mrr)
    words, meaning, both = (measured["held out"][way] for way in quality.WAYS)
    assert both.recall >= max(words.recall, meaning.recall)
    assert both.mrr > max(words.mrr, meaning.mrr)


def test_the_labelled_set_is_large_enough_and_names_documents_that_are_there():
    documents, questions = quality.documents(), quality.questions()
    assert len(documents) >= 30 and len(questions) >= 60
    assert {title for asked in questions for title in asked.titles} <= documents.keys()
    assert sum(not asked.titles for asked in questions) >= 8
    assert 60 <= sum(asked.is_held_out for asked in questions) <= len(questions) - 60
