"""Engine.IO by hand: handshakes, polling, the change to a websocket, and heartbeats."""

import asyncio
import json

import aiohttp
import pytest
from engine_io import OPEN, engine_of, opened, polled, posted, probed
from test_sockets import until

from turnlog import Agent, Settings, create_app
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET
from turnlog.testing.tabs import serve_sockets
from turnlog.transports.socketio import engine, polling
from turnlog.transports.socketio.waiting import Waiting


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Nobody here polls for the last time when the server stops; a slow machine is not late."""
    monkeypatch.setattr(engine, "LAST_WORDS", 0.01)
    monkeypatch.setattr(engine, "PROBES_WITHIN", 600.0)


# handshakes


@pytest.mark.parametrize(("transport", "upgrades"), [("polling", ["websocket"]), ("websocket", [])])
async def test_the_first_packet_says_what_the_client_has_to_know(transport, upgrades):
    async with engine_of() as (connections, http):
        if transport == "polling":
            text = (await polled(http))[1]
        else:
            text = await (await http.ws_connect(f"{OPEN}websocket")).receive_str()
        said = json.loads(text[1:])
        (sid,) = connections
        assert said == {
            "sid": sid,
            "upgrades": upgrades,
            "pingInterval": 25_000,
            "pingTimeout": 20_000,
            "maxPayload": 2_500_000,
        }


REFUSED = {
    "no transport": ("GET", "EIO=4", 0),
    "an unknown transport": ("GET", "EIO=4&transport=pigeon", 0),
    "a websocket without one": ("GET", "EIO=4&transport=websocket", 0),
    "an unknown session": ("GET", "EIO=4&transport=polling&sid=nobody", 1),
    "an unknown session, posted to": ("POST", "EIO=4&transport=polling&sid=nobody", 1),
    "a handshake that is posted": ("POST", "EIO=4&transport=polling", 2),
    "an old version": ("GET", "EIO=3&transport=polling", 5),
    "no version": ("GET", "transport=polling", 5),
}


@pytest.mark.parametrize(("method", "query", "code"), REFUSED.values(), ids=REFUSED)
async def test_what_is_no_handshake_is_refused(method, query, code):
    async with engine_of() as (connections, http):
        async with http.request(method, f"/socket.io/?{query}") as response:
            assert (response.status, (await response.json())["code"]) == (400, code)
        assert connections == {}


async def test_a_page_of_a_site_that_is_let_in_may_poll():
    page = {"origin": "https://ours.example"}
    settings = Settings(auth_secret=SECRET, cors_origins=page["origin"])
    app = create_app([Agent("a")], settings=settings, store=MemoryStore())
    async with app, serve_sockets(app) as url, aiohttp.ClientSession(url) as http:
        async with http.get(f"{OPEN}polling", headers=page) as response:
            assert response.headers["access-control-allow-origin"] == page["origin"]
        preflight = page | {"access-control-request-method": "POST"}
        async with http.options(f"{OPEN}polling", headers=preflight) as response:
            assert response.status == 200


# polling


async def test_packets_of_one_body_are_taken_in_their_order():
    async with engine_of() as (_, http):
        sid = await opened(http)
        packets = [f'42{number}["session:leave"]' for number in range(500)]
        assert await posted(http, sid, *packets) == (200, "ok")
        answers = (await polled(http, sid))[1].split("\x1e")
        assert answers == [f'43{number}[{{"ok":true}}]' for number in range(500)]


async def test_who_polls_twice_at_once_is_hung_up_on():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        first = asyncio.create_task(polled(http, sid))
        await until(lambda: connections[sid].poll)
        assert (await polled(http, sid))[0] == 400
        assert await first in ((200, "1"), (400, '{"code":3,"message":"Bad request"}'))
        assert connections == {}


async def test_who_goes_while_it_polls_is_gone():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        waiting = asyncio.create_task(polled(http, sid))
        await until(lambda: connections[sid].poll)
        waiting.cancel()
        await until(lambda: not connections)


BODIES = {"too many": b"3\x1e" * polling.MOST_PACKETS, "no text": b"\xff"}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_cannot_be_read_ends_the_connection(body):
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with http.post(f"{OPEN}polling&sid={sid}", data=body) as response:
            assert response.status == 400
        assert (await polled(http, sid)) == (200, "1")
        assert connections == {}


async def pieces():
    for _ in range(30):
        yield b"4" * 100_000


async def test_a_body_without_a_length_is_read_up_to_the_limit():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with http.post(f"{OPEN}polling&sid={sid}", data=pieces()) as response:
            assert response.status == 400
        await until(lambda: not connections[sid].is_open)


async def test_a_client_that_says_goodbye_is_gone():
    async with engine_of() as (connections, http):
        for goodbye in ("1", "41"):
            await posted(http, sid := await opened(http), goodbye)
            assert await polled(http, sid) == (200, "1")
        assert connections == {}


# the change to a websocket


async def test_a_websocket_is_tried_out_and_takes_over():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        waiting = asyncio.create_task(polled(http, sid))
        await until(lambda: connections[sid].poll)
        async with probed(http, sid) as line:
            assert await waiting == (200, "6")
            await posted(http, sid, '421["session:leave"]')  # as if there were no websocket
            assert await polled(http, sid) == (200, '431[{"ok":true}]')
            assert await polled(http, sid) == (200, "6")
            await posted(http, sid, '422["session:leave"]')
            await line.send_str("5")
            assert await line.receive_str() == '432[{"ok":true}]'
            await line.send_str('423["session:leave"]')
            assert await line.receive_str() == '433[{"ok":true}]'
            assert (await polled(http, sid))[0] == 400
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(f"{OPEN}websocket&sid={sid}")


@pytest.mark.parametrize("said", [[], ["5"], ["2"], ["2probe", "2probe"], ["2probe", "40"]])
async def test_a_websocket_that_fails_leaves_the_polling_as_it_was(said):
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with http.ws_connect(f"{OPEN}websocket&sid={sid}") as line:
            for packet in said:
                await line.send_str(packet)
            while said and not line.closed:
                await line.receive()
        await until(lambda: connections[sid].probe is None)
        await posted(http, sid, '421["session:leave"]')
        assert await polled(http, sid) == (200, '431[{"ok":true}]')


async def test_a_websocket_that_is_never_used_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(engine, "ROUND", 0.02)
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with http.ws_connect(f"{OPEN}websocket&sid={sid}") as line:
            monkeypatch.setattr(engine, "PROBES_WITHIN", 0.0)
            while not line.closed:
                await line.receive()
        assert connections[sid].is_open


# heartbeats


async def test_who_answers_pings_stays_and_who_does_not_goes(monkeypatch):
    monkeypatch.setattr(engine, "ROUND", 0.02)
    async with engine_of() as (connections, http):
        async with http.ws_connect(f"{OPEN}websocket") as line:
            await line.send_str("40")
            await line.receive_str(), await line.receive_str()
            monkeypatch.setattr(engine, "PING_EVERY", 0.05)
            for _ in range(3):
                assert await line.receive_str() == "2"
                await line.send_str("3")
            assert await line.receive_str() == "2"
            assert len(connections) == 1
            monkeypatch.setattr(engine, "PONG_WITHIN", 0.0)
            while not line.closed:
                await line.receive()
        await until(lambda: not connections)


async def test_who_waited_first_is_due_first():
    waiting = Waiting()
    for name in "abc":
        waiting.add(name)
    waiting.add("a")  # it waits already
    waiting.discard("b")
    assert (waiting.overdue(60), len(waiting)) == ([], 2)
    assert (waiting.overdue(0), len(waiting)) == (["a", "c"], 0)
