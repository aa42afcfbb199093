"""Content that was destroyed in the log is told to no model again, and the session goes on."""

import sqlite3
from contextlib import asynccontextmanager, closing

import asyncpg
import pytest

from turnlog.events.erasure import ERASED_TEXT
from turnlog.events.record import ERASED
from turnlog.ports import Agent, Question
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app
from turnlog.tools.tool import tool
from turnlog.transports.auth import LOCAL_USER as USER

WHERE = "WHERE session_id = '{id}' AND seq = {n}"
ERASE = "UPDATE events SET body = {nothing}, salt = {nothing} " + WHERE


@tool(writes=False)
async def look(at: str) -> str:
    """Look at something."""
    return f"{at} with RESULT"


class InMemory:
    def __init__(self, tmp_path):
        self.store = MemoryStore()

    async def erase(self, id, number):
        log = self.store._log[id]
        log[number] = log[number]._replace(body=ERASED, salt=ERASED)


class OnDisk:
    def __init__(self, tmp_path):
        self.store, self._path = SqliteStore(tmp_path), tmp_path / "turnlog.db"

    async def erase(self, id, number):
        with closing(sqlite3.connect(self._path)) as db:
            db.execute("DROP TRIGGER IF EXISTS events_never_change")
            db.execute(ERASE.format(nothing="X''", id=id, n=number))
            db.commit()


class OnPostgres:
    def __init__(self, url):
        self.store, self._url = PostgresStore(url), url

    async def erase(self, id, number):
        db = await asyncpg.connect(self._url)
        try:
            await db.execute("SET session_replication_role = replica")  # no trigger fires
            await db.execute(ERASE.format(nothing="''::bytea", id=id, n=number))
        finally:
            await db.close()


@pytest.fixture(params=[InMemory, OnDisk], ids=["memory", "sqlite"])
def place(request, tmp_path):
    return request.param(tmp_path)


@asynccontextmanager
async def talked(place, **settings):
    """A session in which there are seven events: two turns, the second with a tool."""
    agents = [Agent("a", tools=[look])]
    async with scripted_app(agents=agents, store=place.store, **settings) as (app, sim):
        session = (await app.create_session(USER)).id

        async def ask(text, *replies):
            sim.queue(*replies)
            result = await app.run_turn(text, session_id=session, user_id=USER)
            assert (result.error, sim.refused) == (None, [])
            return str(sim.requests[-1]["messages"])

        await ask("A QUESTION.", Reply("An ANSWER."))
        await ask("Go.", Reply("I look.", ToolCall("look", {"at": "ARGUMENT"})), Reply("DONE."))
        yield app, session, ask


# By its number: what it says, and what cannot be told without it.
SAYS = {0: ["QUESTION"], 1: ["ANSWER"], 3: ["ARGUMENT", "RESULT"], 4: ["ARGUMENT", "RESULT"],
        5: ["RESULT"], 6: ["DONE"]}  # fmt: skip
WORDS = {"QUESTION", "ANSWER", "ARGUMENT", "RESULT", "DONE"}


async def goes_on_without(place, number, **settings):
    async with talked(place, **settings) as (app, session, ask):
        told = await ask("More.", Reply("Yes."))
        assert [word for word in WORDS if word not in told] == []
        await place.erase(session, number)
        for _ in range(2):  # the second time from what the first one was told
            told = await ask("And now?", Reply("So."))
            gone = {word for word in WORDS if word not in told}
            assert set(SAYS[number][:1]) <= gone <= set(SAYS[number]), told
            assert (ERASED_TEXT in told) == (number == 0)
        estimate = await app.estimates.of(USER, session, Question(message="How much?"))
        assert estimate.input_tokens > 0


@pytest.mark.parametrize("number", SAYS)
async def test_what_was_erased_is_not_told_from_memory(place, number):
    await goes_on_without(place, number)


@pytest.mark.parametrize("number", [0, 4, 5])
async def test_a_session_with_an_erased_event_goes_on_when_nothing_is_remembered(place, number):
    await goes_on_without(place, number, window_bytes=0)


@pytest.mark.slow
@pytest.mark.parametrize("window_bytes", [0, 1_000_000])
async def test_what_was_erased_is_not_told_on_postgres(database, window_bytes):
    await goes_on_without(OnPostgres(database), 0, window_bytes=window_bytes)


async def test_the_numbers_without_content_are_counted_from_the_anchor_on(place):
    await place.store.open()
    await place.store.create_session(s.new_session())
    turn = await place.store.begin_turn(s.new_turn(), s.placed(s.asked("One.")))
    await place.store.append(turn, s.placed(*[s.said(f"{n}.") for n in range(9)]))
    for number in (0, 2, 7):
        await place.erase("s", number)
    read = [await place.store.excerpt("alice", "s", anchor=n, after=5) for n in (0, 1, 3, 8)]
    assert [each.emptied for each in read] == [3, 2, 1, 0]
    assert [entry.position for entry in read[0].entries] == [6, 8, 9]
    assert await place.store.excerpt("alice", "s", anchor=0, after=9) == ([], 0)
    await place.store.close()


async def test_the_count_is_looked_up_in_an_index(tmp_path):
    """So it costs the same however long the window is."""
    store = SqliteStore(tmp_path)
    await store.open()
    place = {"session_id": "s", "anchor": 0, "after": 5}
    plan = f"EXPLAIN QUERY PLAN {SQL['read_excerpt']}"
    steps = [row[3] for row in await store._look(lambda db: list(db.execute(plan, place)))]
    await store.close()
    assert [step for step in steps if "INDEX emptied (session_id=? AND seq>?)" in step]
