"""Reload equals live (E5): the log, page by page, is what was shown, and nothing internal."""

from pathlib import Path

import httpx2
import pytest

from turnlog.events.kinds import HistoryAnchored
from turnlog.events.rows.record import stamped
from turnlog.projections.transcript import transcript
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.apps import SECRET, as_user, is_problem, served
from turnlog.testing.golden import flows, pages
from turnlog.tokens import mint
from turnlog.transports import wire


def _holds_still(path):
    """Nothing happens by itself on the page while a client turns its pages."""
    return not any(step.verb == "waits" for t in pages.read_page(path).turns for step in t.people)


PAGES = [path for path in sorted(Path(__file__).parent.glob("flows/*.md")) if _holds_still(path)]
ADMIN = {"authorization": f"Bearer {mint(SECRET, 'alice', admin=True)}"}
# fmt: off
TALK = [
    [s.asked(), HistoryAnchored(anchor=0), s.said(s.call("a"), stop="tool_use"), s.used("a"),
     s.result("a"), s.said("Two.")],
    [s.asked(), HistoryAnchored(anchor=0), HistoryAnchored(anchor=0), s.broke()],
    [s.asked(), HistoryAnchored(anchor=6), s.said("Three.")],
]
# fmt: on
MISSING = "a was asked for and has no result"
SHOWN = [event.type for turn in TALK for event in turn if not event.internal]


async def walk(http, session, limit):
    """All pages, from the newest to the top; the events from the oldest on."""
    events, asked = [], {"limit": limit}
    while True:
        page = (await http.get(f"/api/sessions/{session}/messages", params=asked)).json()
        assert len(page["events"]) <= limit
        events = page["events"] + events
        if page["before"] is None:
            return events
        asked["before"] = page["before"]


async def kept(store, session):
    """The visible part of the log, as the wire has it."""
    log = [stamped(row) for row in (await store.evidence(session)).log]
    return [wire.decode(wire.encode(entry)) for entry in log if not entry.envelope.internal]


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
async def test_a_reload_of_a_golden_page_shows_the_same_screen(path):
    async def send(app, session, turn):
        shown = await flows.by_library(app, session, turn)
        log = await kept(app.store, session)
        async with (
            listen(app, "127.0.0.1", 0) as url,
            httpx2.AsyncClient(timeout=60, base_url=url) as http,
        ):
            for limit in (1, 2, 3, 100):
                assert await walk(http, session, limit) == log
        mine = [event for event in log if event["turnId"] == shown[0]["turnId"]]
        assert transcript(mine) == transcript(shown)
        return shown

    seen = await flows.perform(pages.read_page(path), MemoryStore(), send)
    assert seen.broken == []


@pytest.fixture(params=["memory", "sqlite"])
async def talk(request, migrated):
    """A server with a session "s" of Alice's, with internal events in all places."""
    store = MemoryStore() if request.param == "memory" else SqliteStore(migrated)
    async with served(secret=SECRET, store=store) as server:
        await s.keep(store, *TALK)
        server.http.headers.update(as_user("alice"))
        yield server


async def test_pages_of_every_size_hold_the_visible_events_once(talk):
    log = await kept(talk.app.store, "s")
    assert [event["type"] for event in log] == SHOWN
    for limit in range(1, 15):
        assert await walk(talk.http, "s", limit) == log


async def test_pages_stay_where_they_are_while_the_log_grows(talk):
    newest = (await talk.http.get("/api/sessions/s/messages?limit=4")).json()
    turn = s.new_turn("more")
    await talk.app.store.begin_turn(turn, s.placed(s.asked()))
    path = f"/api/sessions/s/messages?before={newest['before']}"
    older = (await talk.http.get(path)).json()
    types = [event["type"] for event in older["events"] + newest["events"]]
    assert (types, older["before"]) == (SHOWN, None)


async def test_nothing_internal_and_nothing_log_only_is_reloaded(talk):
    whole = (await talk.http.get("/api/sessions/s/messages")).text
    log_only = ("blockIndexes", "reported", "details", "prefix", "costs", "signature", "text")
    for name in ("history_anchored", "anchor", *(f'"{name}"' for name in log_only)):
        assert name not in whole


@pytest.mark.parametrize(
    "asked", ["limit=0", "limit=1001", "limit=x", "limit=1_0", "limit=١", "before=-1", "before=x"]
)
async def test_a_page_is_asked_for_in_numbers(asked):
    async with served() as server:
        session = await server.session()
        response = await server.http.get(f"/api/sessions/{session}/messages?{asked}")
        is_problem(response, 400, "bad_input")


# the log itself


async def read(http, limit, internal="false"):
    """The whole log by its own route."""
    events, after = [], -1
    while after is not None:
        params = {"after": after, "limit": limit, "internal": internal}
        page = (await http.get("/api/sessions/s/events", params=params)).json()
        events, after = events + page["events"], page["after"]
    return events


@pytest.mark.parametrize("limit", [1, 3, 13, 14, 100])
async def test_an_admin_reads_the_whole_log(talk, limit):
    assert await read(talk.http, limit) == await kept(talk.app.store, "s")
    talk.http.headers.update(ADMIN)
    whole = await read(talk.http, limit, internal="true")
    assert [event["type"] for event in whole] == [event.type for turn in TALK for event in turn]
    assert await read(talk.http, limit) == await kept(talk.app.store, "s")


async def test_the_log_has_a_number_for_every_approval():
    """The live wire shows a question as pending and its answer as transient, without numbers."""
    turn = [s.asked(), s.said(s.call("a"), stop="tool_use"), s.used("a"), s.approval("q", "a"),
            s.decision("q"), s.result("a"), s.said("Done.")]  # fmt: skip
    async with served() as server:
        await s.keep(server.app.store, turn, session=s.new_session("s", "local"))
        log = await read(server.http, 100)
        assert [event["sequenceNumber"] for event in log] == list(range(7))
        assert {event["persistenceState"] for event in log} == {"persisted"}


async def test_internal_events_are_for_admins(talk):
    response = await talk.http.get("/api/sessions/s/events?internal=true")
    is_problem(response, 403, "forbidden")
    assert "history_anchored" not in response.text


@pytest.mark.parametrize("asked", ["limit=0", "after=-2", "after=x", "internal=maybe"])
async def test_the_log_is_asked_for_in_numbers(talk, asked):
    response = await talk.http.get(f"/api/sessions/s/events?{asked}")
    is_problem(response, 400, "bad_input")


# the proof


async def test_a_whole_session_is_proven(talk):
    proof = (await talk.http.get("/api/sessions/s/verify")).json()
    assert (proof["first"], proof["last"], proof["count"]) == (0, 12, 13)
    assert (proof["gaps"], proof["duplicates"], proof["unpairedTools"]) == ([], [], [])
    assert (proof["ok"], proof["problems"]) == (True, [])


async def test_an_empty_session_is_proven():
    async with served() as server:
        path = f"/api/sessions/{await server.session()}/verify"
        proof = (await server.http.get(path)).json()
        assert (proof["first"], proof["last"], proof["count"], proof["ok"]) == (None, None, 0, True)


async def test_a_log_with_a_hole_is_not():
    store = MemoryStore()
    async with served(store=store) as server:
        await s.keep(store, *TALK, session=s.new_session("s", "local"))
        del store._log["s"][4]  # the tool's result
        proof = (await server.http.get("/api/sessions/s/verify")).json()
        assert (proof["ok"], proof["gaps"], proof["unpairedTools"]) == (False, [4], [MISSING])
