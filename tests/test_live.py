"""Watching live over HTTP: nothing twice, nothing skipped, or one honest resync_required."""

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest

from turnlog.engines.claude.sse import SseSplitter
from turnlog.projections.transcript import transcript
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing.apps import STREAM, events, is_problem, served
from turnlog.transports import sse

OVER = ("complete", "error", "resync_required")


@asynccontextmanager
async def watching(server, session, after=None, **headers):
    """The events of one client, as they come."""
    params = {} if after is None else {"after": after}
    path = f"/api/sessions/{session}/stream"
    async with server.http.stream("GET", path, params=params, headers=headers) as response:
        assert response.status_code == 200
        async with aclosing(read_events(response)) as shown:
            yield shown


async def read_events(response):
    splitter = SseSplitter()
    async for piece in response.aiter_bytes():
        for event in splitter.feed(piece):
            yield event


async def up_to(shown, *types):
    seen = []
    async with asyncio.timeout(60):  # heartbeats would keep a test that fails waiting for ever
        while not seen or seen[-1]["type"] not in types:
            seen.append(await anext(shown))
    return seen


async def watched(server, session, after=None, **headers):
    """What a client sees until the turn is over."""
    async with watching(server, session, after, **headers) as shown:
        return await up_to(shown, *OVER)


async def reload(server, session):
    return (await server.http.get(f"/api/sessions/{session}/messages")).json()


def channel_of(bus, session):
    return bus.channels[session]


def types(shown):
    return [event["type"] for event in shown]


def pieces(shown):
    """Every chunk's text as one, so that it does not matter which ones were joined."""
    text, seen = "", []
    for event in shown:
        if event["type"].endswith("_chunk"):
            text += event["content"]
        else:
            seen += [text, event["eventId"]]
            text = ""
    return seen


WAITING = [Reply("Let me see.", ToolCall("wait")), Reply("Done.")]
YES = Reply("Yes.")

# resuming


async def test_every_cursor_of_a_turn_leads_to_its_end():
    async with served(*WAITING) as server:
        server.go.set()
        session = await server.session()
        whole = events(await server.ask(session, headers=STREAM))
        assert len(whole) > 5
        for seen, event in enumerate(whole[:-1], 1):
            rest = await watched(server, session, event["cursor"])
            assert pieces(rest) == pieces(whole[seen:])


async def test_a_browser_that_reconnects_goes_on_from_the_last_event_it_saw():
    async with served(*WAITING) as server:
        server.go.set()
        session = await server.session()
        start = (await reload(server, session))["cursor"]
        whole = events(await server.ask(session, headers=STREAM))
        last = {"last-event-id": whole[-3]["cursor"]}
        assert await watched(server, session, **last) == whole[-2:]
        assert await watched(server, session, start, **last) == whole[-2:]


async def test_a_cursor_of_a_turn_before_the_last_one_is_too_old():
    async with served(YES, YES) as server:
        session = await server.session()
        old, *_ = events(await server.ask(session, headers=STREAM))
        newest = events(await server.ask(session, headers=STREAM))
        (told,) = await watched(server, session, old["cursor"])
        assert (told["type"], told["persistenceState"]) == ("resync_required", "transient")
        cursor = (await reload(server, session))["cursor"]
        assert await watched(server, session, cursor) == newest[-1:]


async def test_after_a_restart_what_was_missed_must_be_reloaded():
    store = MemoryStore()
    async with served(YES, store=store) as server:
        session = await server.session()
        seen = events(await server.ask(session, headers=STREAM))
    async with served(YES, store=store) as server:
        assert types(await watched(server, session, seen[0]["cursor"])) == ["resync_required"]
        async with watching(server, session, seen[-1]["cursor"]) as shown:
            asked = events(await server.ask(session, headers=STREAM))
            assert pieces(await up_to(shown, *OVER)) == pieces(asked)


FOREIGN = ["7.0", "1.99", "99.99", "-7.0", "2.-1"]


@pytest.mark.parametrize("cursor", FOREIGN)
async def test_a_cursor_that_no_event_of_the_session_had_is_refused(cursor):
    async with served(YES, YES) as server:
        session = await server.session()
        await server.ask(session, headers=STREAM)
        assert types(await watched(server, session, cursor)) == ["resync_required"]


@pytest.mark.parametrize("cursor", ["0.0", "7.0"])
async def test_a_cursor_of_another_session_is_refused_where_nothing_has_happened(cursor):
    async with served() as server:
        session = await server.session()
        assert types(await watched(server, session, cursor)) == ["resync_required"]


@pytest.mark.parametrize("cursor", ["x", "1", "1.", ".1", "1.x", "1.1.1", "9" * 5000 + ".0"])
async def test_what_is_no_cursor_is_a_problem(cursor):
    async with served() as server:
        session = await server.session()
        path = f"/api/sessions/{session}/stream"
        is_problem(await server.http.get(path, params={"after": cursor}), 400, "bad_input")
        is_problem(await server.http.get(path, headers={"last-event-id": cursor}), 400, "bad_input")


async def test_the_cursor_of_an_empty_session_works():
    async with served(YES) as server:
        session = await server.session()
        page = await reload(server, session)
        assert (page["events"], page["before"]) == ([], None)
        async with watching(server, session, page["cursor"]) as shown:
            asked = events(await server.ask(session, headers=STREAM))
            assert pieces(await up_to(shown, *OVER)) == pieces(asked)


async def test_a_reload_in_mid_answer_goes_on_from_there():
    async with served(*WAITING) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            live = await up_to(shown, "tool_use")
            page = await reload(server, session)
            server.go.set()
            live += await up_to(shown, *OVER)
        rest = await watched(server, session, page["cursor"])
        log = (await reload(server, session))["events"]
        assert types(page["events"]) == ["user_message_sent", "message", "tool_use"]
        assert transcript([*page["events"], *rest]) == transcript(live) == transcript(log)
        assert invariants.broken([*live], log) == []


async def test_asking_for_the_head_of_a_stream_starts_none():
    async with served(YES) as server:
        session = await server.session()
        await server.ask(session, headers=STREAM)
        response = await server.http.head(f"/api/sessions/{session}/stream")
        assert (response.status_code, response.content) == (200, b"")
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert channel_of(server.app.bus, session).watchers == 0
        assert (await server.http.head("/api/sessions/nowhere/stream")).status_code == 404
        bad = await server.http.head(f"/api/sessions/{session}/stream", params={"after": "x"})
        assert bad.status_code == 400


# many who watch


async def test_all_who_watch_see_the_same_also_one_who_joins_in_the_middle():
    async with served(*WAITING) as server:
        session = await server.session()
        async with watching(server, session) as one, watching(server, session) as two:
            await server.ask(session)
            seen = await up_to(one, "tool_use")
            async with watching(server, session) as late:
                server.go.set()
                seen += await up_to(one, *OVER)
                assert pieces(seen) == pieces(await up_to(two, *OVER))
                assert pieces(seen) == pieces(await up_to(late, *OVER))


async def test_one_who_watches_sees_turn_after_turn():
    async with served(YES, YES, YES) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            for _ in range(3):
                asked = events(await server.ask(session, headers=STREAM))
                assert pieces(await up_to(shown, *OVER)) == pieces(asked)


@pytest.mark.slow
async def test_a_turn_ends_while_a_client_reads_nothing():
    """Over a real connection: what it did not take is not piled up for it."""
    story = "word " * 20_000
    async with served(Reply(story, chunk=5)) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            await server.ended()
            channel = channel_of(server.app.bus, session)
            assert channel.watchers == 1
            seen = await up_to(shown, *OVER)
        assert sum(len(e["content"]) for e in seen if e["type"] == "message_chunk") == len(story)
        assert len(seen) <= len(channel.events)


async def test_clients_that_hang_up_are_forgotten():
    async with served(YES) as server:
        session = await server.session()
        async with watching(server, session) as shown:
            await server.ask(session)
            await up_to(shown, *OVER)
            channel = channel_of(server.app.bus, session)
            assert channel.watchers == 1
        async with asyncio.timeout(60):
            while channel.watchers:  # until the server has noticed
                await server.http.get("/healthz")
        assert server.app._turns._live == {}


def test_a_heartbeat_is_no_event():
    assert list(SseSplitter().feed(sse.ALIVE * 3)) == []
