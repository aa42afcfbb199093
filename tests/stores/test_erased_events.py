"""Content that was destroyed in the log is told to no model again, and the session goes on.

People see the rest, and in its place that something was erased.
"""

import asyncio
import sqlite3
from contextlib import aclosing, asynccontextmanager, closing

import asyncpg
import pytest

from turnlog.errors import NotFound
from turnlog.events import kinds as k
from turnlog.events.rows.erasure import ERASED_TEXT, shown
from turnlog.events.rows.record import ERASED, NO_SEAL, records
from turnlog.ports import Agent, Excerpt, Question
from turnlog.projections.transcript import transcript
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import client_of, is_problem, scripted_app
from turnlog.tools.tool import tool
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER as USER

WHERE = "WHERE session_id = '{id}' AND seq = {n}"
ERASE = "UPDATE events SET body = {nothing}, salt = {nothing} " + WHERE
EMPTY = "UPDATE events SET body = {nothing} " + WHERE


@tool(writes=False)
async def look(at: str) -> str:
    """Look at something."""
    return f"{at} with RESULT"


AGENTS = [Agent("a", tools=[look])]


class InMemory:
    def __init__(self, tmp_path):
        self.store = MemoryStore()

    async def erase(self, id, number):
        log = self.store._log[id]
        log[number] = log[number]._replace(body=ERASED, salt=ERASED)


class OnDisk:
    def __init__(self, tmp_path):
        self.store, self._path = SqliteStore(tmp_path), tmp_path / "turnlog.db"

    async def erase(self, id, number, how=ERASE):
        with closing(sqlite3.connect(self._path)) as db:
            db.execute("DROP TRIGGER IF EXISTS events_never_change")
            db.execute(how.format(nothing="X''", id=id, n=number))
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
def place(request, migrated):
    return request.param(migrated)


@asynccontextmanager
async def talked(place, **settings):
    """A session in which there are seven events: two turns, the second with a tool."""
    async with scripted_app(agents=AGENTS, store=place.store, **settings) as (app, sim):
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
            if number == 5:  # so that a write is not made twice
                assert "its result was erased. It may or may not have taken effect." in told
        estimate = await app.estimates.of(USER, session, Question(message="How much?"))
        assert estimate.input_tokens > 0


@pytest.mark.parametrize("number", SAYS)
async def test_what_was_erased_is_not_told_from_memory(place, number):
    await goes_on_without(place, number)


async def test_what_is_erased_while_a_prompt_is_made_is_not_told(place):
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def prompt(context):
        waits.set()
        await goes_on.wait()
        return "Be kind."

    async with scripted_app(agents=[Agent("a", prompt=prompt)], store=place.store) as (app, sim):
        session = (await app.create_session(USER)).id
        sim.queue(Reply("An ANSWER."), Reply("Yes."))
        goes_on.set()
        await app.run_turn("One.", session_id=session, user_id=USER)
        waits.clear()
        goes_on.clear()
        await app.start_turn(USER, session, Question(message="Two."))
        await waits.wait()
        await place.erase(session, 1)
        goes_on.set()
        await app._turns.all_at_rest()
        assert "One." in str(sim.requests[-1]["messages"])
        assert "ANSWER" not in str(sim.requests[-1]["messages"])


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
    assert await place.store.excerpt("alice", "s", anchor=0, after=9) == Excerpt([])
    await place.store.close()


@pytest.mark.parametrize("statement", ["read_excerpt", "read_few_of_excerpt"])
async def test_the_count_is_looked_up_in_an_index(tmp_path, statement):
    """So it costs the same however long the window is."""
    store = SqliteStore(tmp_path)
    await store.open()
    place = {"session_id": "s", "anchor": 0, "after": 5}
    place |= {"user_id": "alice", "largest": 9, "limit": 9}
    plan = f"EXPLAIN QUERY PLAN {SQL[statement]}"
    steps = [row[3] for row in await store._look(lambda db: list(db.execute(plan, place)))]
    await store.close()
    assert [step for step in steps if "INDEX emptied (session_id=? AND seq>?)" in step]


@pytest.mark.parametrize("words", [["Hi."], ["Hi."] * 30, ["x" * 100_000], ["x" * 5_000] * 19])
async def test_an_excerpt_is_whole_however_much_it_is(place, words):
    await place.store.open()
    await place.store.create_session(s.new_session())
    turn = await place.store.begin_turn(s.new_turn(), s.placed(s.asked("One.")))
    await place.store.append(turn, s.placed(*[s.said(each) for each in words]))
    read = await place.store.excerpt("alice", "s", anchor=0, after=0)
    assert [entry.event.content for entry in read.entries] == words
    with pytest.raises(NotFound):
        await place.store.excerpt("bob", "s", anchor=0, after=0)
    await place.store.close()


# what people see

NAMES = {4: "tool_use", 5: "tool_result"}


async def shows_the_rest(place, number):
    async with talked(place) as (_, session, _):
        await place.erase(session, number)
    # A server that remembers nothing: what it shows is in the log.
    again = scripted_app(Reply("Yes."), agents=AGENTS, store=place.store)
    async with again as (app, _), client_of(app) as http:
        path = f"/api/sessions/{session}"
        reload = (await http.get(f"{path}/messages")).json()["events"]
        assert [event["sequenceNumber"] for event in reload] == [0, 1, 2, 3, 4, 5, 6]
        assert [n for n, event in enumerate(reload) if "erased" in event.get("content", "")] == [
            number
        ]
        assert NAMES.get(number, "message") in reload[number]["content"]
        assert (await http.get(f"{path}/events")).json()["events"] == reload
        assert [turn.state for turn in transcript(reload)] == ["done", "done"]
        result = await app.run_turn("More?", session_id=session, user_id=USER)
        assert (result.error, (await http.get(f"{path}/verify")).json()["ok"]) == (None, True)


@pytest.mark.parametrize("number", SAYS)
async def test_the_rest_of_a_session_is_shown_and_what_was_erased_is_named(place, number):
    await shows_the_rest(place, number)


async def test_a_turn_with_an_erased_event_is_followed_from_its_start(place):
    async with talked(place) as (_, session, _):
        await place.erase(session, 4)
    async with scripted_app(agents=AGENTS, store=place.store) as (app, _):
        async with aclosing(app.follow(USER, session, None)) as batches:
            opening = [live.entry.seq for live in await anext(batches)]
        assert opening == [2, 3, 4, 5, 6, None]  # the newest turn, and that it is over


@pytest.mark.slow
async def test_the_rest_of_a_session_is_shown_from_postgres(database):
    await shows_the_rest(OnPostgres(database), 4)


@pytest.mark.parametrize(
    "event",
    [k.Thinking(message_id="m", content="SECRET", signature="SECRET"), s.broke("SECRET")],
    ids=["thinking", "error"],
)
def test_a_thought_and_an_error_that_were_erased_keep_their_kind(event):
    (row,) = records("s", "t", s.placed(event), 0, NO_SEAL)
    erased = wire.encode(shown(row._replace(body=ERASED, salt=ERASED))).decode()
    assert f'"type":"{event.type}"' in erased
    assert "erased" in erased and "SECRET" not in erased


async def test_content_without_which_the_salt_was_left_is_refused_and_named(tmp_path):
    """Whether it was to be erased nobody can tell, and who has the salt can try out words."""
    place = OnDisk(tmp_path)
    async with talked(place) as (app, session, _), client_of(app) as http:
        await place.erase(session, 5, EMPTY)
        for what in ("messages", "events"):
            problem = await http.get(f"/api/sessions/{session}/{what}")
            detail = is_problem(problem, 503, "content_lost")
            assert "number 5" in detail and "backup" in detail
        proof = (await http.get(f"/api/sessions/{session}/verify")).json()
        assert not proof["ok"] and "number 5 lost its content" in str(proof["problems"])
