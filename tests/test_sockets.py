"""Socket.IO: everybody is told everything once, whoever drops off, stalls or talks nonsense."""

import asyncio
import json
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
import pytest
import socketio

from turnlog import Turnlog
from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.rows.record import stamped
from turnlog.ports.user import User
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import invariants, samples
from turnlog.testing.apps import SECRET, waiting_app
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.tokens import mint
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.transports.socketio import engine
from turnlog.transports.socketio import requests as socket_requests
from turnlog.transports.socketio import server as sockets

WAITS = (Reply("Let me see.", ToolCall("wait")), Reply("Done."))


@dataclass
class Server:
    """A served app, its address, and a tool that waits until it is let go."""

    app: Turnlog
    url: str
    go: asyncio.Event

    async def session(self, user=LOCAL_USER):
        return (await self.app.create_session(user)).id

    async def log(self, session):
        evidence = await self.app.store.evidence(session)
        return [wire.decode(wire.encode(stamped(row))) for row in evidence.log]


@asynccontextmanager
async def served(*entries, secret=None, store=None):
    async with (
        waiting_app(*entries, secret=secret, store=store) as (app, _, go),
        serve_sockets(app) as url,
        asyncio.timeout(120),
    ):
        yield Server(app, url, go)
        go.set()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


async def test_two_tabs_are_told_the_same_and_joining_again_repeats_nothing():
    async with served(*WAITS) as server, tab(server.url) as one, tab(server.url) as two:
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Hi"})
        await one.until("tool_use")
        cursor = one.seen[-1]["cursor"]
        assert (await one.join(session, after=cursor))["cursor"] == cursor
        await two.join(session)  # in the middle
        server.go.set()
        for each in (one, two):
            seen = await each.until("complete")
            assert invariants.broken(seen, await server.log(session)) == []


async def test_any_tab_can_stop():
    async with served(*WAITS) as server, tab(server.url) as one, tab(server.url) as two:
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Hi"})
        await one.until("tool_use")
        assert await two.ask("chat:stop", {"sessionId": session}) == {"ok": True, "stopped": True}
        assert (await one.until("complete"))[-1]["stopReason"] == "cancelled"
        assert await two.ask("chat:stop", {"sessionId": session}) == {"ok": True, "stopped": False}


@pytest.mark.parametrize("payload", [(), ({},), "one"])
async def test_who_has_left_is_told_nothing(payload):
    async with served(Reply("Hello.")) as server, tab(server.url) as one, tab(server.url) as two:
        session = await server.session()
        await one.join(session)
        await two.join(session)
        payload = ({"sessionId": session},) if payload == "one" else payload
        assert await one.ask("session:leave", *payload) == {"ok": True}
        await two.ask("chat:message", {"sessionId": session, "message": "Hi"})
        await two.until("complete")
        assert await one.ask("session:leave") == {"ok": True}  # all before it has arrived
        assert one.inbox.empty()


BAD = {
    "no payload": ("session:join", ()),
    "no object": ("session:join", ([],)),
    "two payloads": ("session:join", ({"sessionId": "s"}, 2)),
    "a number": ("session:join", ({"sessionId": 5},)),
    "an unknown field": ("chat:stop", ({"sessionId": "s", "user": "bob"},)),
    "no cursor": ("session:join", ({"sessionId": "s", "after": "soon"},)),
    "no message": ("chat:message", ({"sessionId": "s"},)),
    "bytes": ("chat:message", ({"sessionId": "s", "message": b"\x00\xff"},)),
    "half a character": ("chat:message", ({"sessionId": "s", "message": "\ud800"},)),
    "an unknown event": ("chat:massage", ({"sessionId": "s"},)),
    "an event without a name": ("", ()),
    "half an answer": ("approval:respond", ({"approvalId": "a"},)),
}


@pytest.mark.parametrize(("event", "payload"), BAD.values(), ids=BAD)
async def test_nonsense_is_answered(event, payload):
    async with served() as server, tab(server.url) as one:
        answer = await one.ask(event, payload)  # a tuple is several arguments
        assert (answer["ok"], answer["error"]["code"]) == (False, "bad_input")
        assert answer["error"].keys() == {"code", "detail"}
        await one.join(await server.session())  # and it is still there


async def test_the_same_request_is_the_same_turn_and_another_one_finds_it_busy():
    async with served(*WAITS) as server, tab(server.url) as one:
        question = {"sessionId": await server.session(), "message": "Hi", "requestId": "r"}
        first = await one.ask("chat:message", question)
        assert await one.ask("chat:message", question) == first
        busy = await one.ask("chat:message", question | {"requestId": "another"})
        assert busy["error"]["code"] == "busy"


async def test_a_bug_is_told_without_its_details(monkeypatch):
    async with served() as server, tab(server.url) as one:

        async def broken(*_):
            raise OSError("/secret/path is full")

        monkeypatch.setattr(server.app.store, "get_session", broken)
        answer = await one.ask("session:join", {"sessionId": "s"})
        assert answer["error"] == socket_requests.BUG


async def test_a_socket_can_join_so_many_sessions(monkeypatch):
    monkeypatch.setattr(sockets, "MOST_JOINED", 2)
    async with served() as server, tab(server.url) as one:
        first, second, third = [await server.session() for _ in range(3)]
        await one.join(first)
        await one.join(second)
        refused = await one.ask("session:join", {"sessionId": third})
        assert refused["error"]["code"] == "bad_input"
        await one.join(second)
        await one.ask("session:leave", {"sessionId": first})
        await one.join(third)


RAW = ["", "x", "9", "4", "42", "42[]", "42{}", "4" + "[" * 50_000, '42["connect"]', "45999-[]"]


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: raw[:12] or "nothing")
async def test_broken_packets_hurt_nobody_else(raw):
    async with (
        served(Reply("Hello.")) as server,
        tab(server.url) as one,
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{server.url}/socket.io/?EIO=4&transport=websocket") as line,
    ):
        await line.send_str("40")
        await line.send_str(raw)
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Hi"})
        await one.until("complete")


def token(**claims):
    return mint(SECRET, "alice", **claims)


EXPIRED = {"token": token(exp=time.time() - 60)}
NOBODY = [None, {}, "alice", {"token": 5}, {"token": "abc"}, EXPIRED]


@pytest.mark.parametrize("auth", NOBODY)
async def test_nobody_gets_in_without_a_token_that_holds(auth):
    async with served(secret=SECRET) as server:
        refused = asyncio.Queue()
        client = socketio.AsyncClient(reconnection=False)
        client.on("connect_error", refused.put)
        with pytest.raises(socketio.exceptions.ConnectionError):
            await client.connect(server.url, auth=auth, transports=["websocket"], wait_timeout=60)
        told = await refused.get()
        assert told["data"] == {"code": "unauthorized", "detail": told["message"]}
        await client.shutdown()


async def test_someone_elses_session_looks_like_an_unknown_one():
    async with served(secret=SECRET) as server:
        session = await server.session("alice")
        async with tab(server.url, auth={"token": mint(SECRET, "bob")}) as bob:
            for event in ("session:join", "chat:message", "chat:stop"):
                more = {"message": "Hi"} if event == "chat:message" else {}
                foreign = await bob.ask(event, {"sessionId": session, **more})
                unknown = await bob.ask(event, {"sessionId": "nowhere", **more})
                assert foreign["error"]["code"] == "not_found"
                detail = foreign["error"]["detail"].replace(session, "nowhere")
                assert detail == unknown["error"]["detail"]
        assert await server.log(session) == []


async def joins_and_ends(server, session, seconds, transport):
    """A socket whose token holds so long: whether it has joined, before it ended."""
    auth = {"token": token(exp=int(time.time()) + seconds)}
    async with tab(server.url, auth=auth, transports=[transport]) as one:
        joining = asyncio.create_task(one.join(session))
        await until(lambda: not one.client.connected)
        joining.cancel()
        (start,) = await asyncio.gather(joining, return_exceptions=True)
    return isinstance(start, dict)


async def test_a_socket_lives_no_longer_than_its_token(monkeypatch):
    async def identify(header):
        return User(id="alice", until=time.time() + 0.2)

    async with served() as server, aiohttp.ClientSession() as http:
        monkeypatch.setattr(server.app._sockets._auth, "identify", identify)
        async with http.ws_connect(f"{server.url}/socket.io/?EIO=4&transport=websocket") as line:
            await line.send_str("40")
            packets = [message.data[:2] async for message in line]
        assert packets == ["0{", "40", "41"]  # opened, connected, sent away
        await until(lambda: not server.app._sockets._clients)


@pytest.mark.slow  # tokens end at whole seconds
@pytest.mark.parametrize("transport", ["websocket", "polling"])
async def test_a_socket_ends_with_its_token(transport):
    async with served(secret=SECRET) as server:
        session, has_joined = await server.session("alice"), False
        for seconds in (2, 20):  # two are too few where the machine stands still for one
            with suppress(socketio.exceptions.ConnectionError):
                has_joined = has_joined or await joins_and_ends(server, session, seconds, transport)
        assert has_joined
        assert server.app._sockets._clients == {}


FOREIGN = [{"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_pages_of_other_sites_are_refused(headers):
    async with served() as server, aiohttp.ClientSession() as http:
        url = f"{server.url}/socket.io/?EIO=4&transport="
        async with http.get(f"{url}polling", headers=headers) as response:
            assert response.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await http.ws_connect(f"{url}websocket", headers=headers)


async def test_with_tokens_pages_of_other_sites_are_refused_too():
    async with served(secret=SECRET) as server, aiohttp.ClientSession() as http:
        url = f"{server.url}/socket.io/?EIO=4&transport=websocket"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await http.ws_connect(url, headers=FOREIGN[0])
        async with http.ws_connect(url, headers={"origin": server.url}) as line:
            assert (await line.receive()).data.startswith("0{")


def flood(session, pieces=1500):
    """A turn of 15 MB, in pieces of two blocks, which cannot be joined."""
    chunks = [
        k.MessageChunk(message_id="m", content="x" * 10_000, block_index=n % 2)
        for n in range(pieces)
    ]
    for at in samples.placed(samples.asked(), *chunks):
        seq = 0 if at.kept else None
        yield Stamped(session_id=session, turn_id="t", envelope=at, seq=seq, position=0)


@asynccontextmanager
async def stalled(server, session):
    """A websocket that joins and then reads nothing, until it is asked for a frame."""
    async with (
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{server.url}/socket.io/?EIO=4&transport=websocket") as line,
    ):
        await line.send_str("40")
        await line.send_str(f'420["session:join",{{"sessionId":"{session}"}}]')
        await until(lambda: any(c.joined for c in server.app._sockets._clients.values()))
        yield line


async def test_who_does_not_read_slows_nobody_and_misses_nothing():
    async with served() as server:
        session = await server.session()
        async with stalled(server, session) as line, tab(server.url) as one:
            await one.join(session)
            events = list(flood(session))
            for at in events:
                server.app.bus.publish(session, [at])
            seen = [(await one.inbox.get())["eventIndex"] for _ in events]
            assert seen == list(range(len(events)))
            (slow,) = [c for c in server.app._sockets._clients if c.is_full]
            waiting = slow.line.transport.get_write_buffer_size()
            assert 0 < waiting < 100_000  # what a transport takes, and one event
            read = []
            while len(read) < len(events):
                frame = (await line.receive()).data
                if '"turnId":"t"' in frame:
                    read.append(json.loads(frame[2:])[1]["eventIndex"])
            assert read == seen


async def test_who_reads_nothing_for_long_is_sent_away(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 0.3)
    async with served() as server:
        session = await server.session()
        async with stalled(server, session) as line, tab(server.url) as one:
            for at in flood(session):
                server.app.bus.publish(session, [at])
            await until(lambda: len(server.app._sockets._clients) == 1)
            monkeypatch.undo()  # the other one may take its time
            assert not any(c.joined for c in server.app._sockets._clients.values())
            await one.join(session)
            while not line.closed:
                await line.receive()
