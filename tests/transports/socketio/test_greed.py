"""Clients that take more than they should: each is bounded, and hurts nobody else."""

import asyncio
import json

import aiohttp
import pytest
from engine_io import OPEN, engine_of, opened, polled, posted, probed
from test_sockets import SECRET, token, until

from turnlog.transports.socketio import connection as connections_module
from turnlog.transports.socketio import engine, polling, server
from turnlog.transports.websocket.frames import MOST_OF_A_STRANGER, TOO_LARGE

LONG = "/" + "x" * 190
CUT_OFF = (400, '{"code":3,"message":"Bad request"}')


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Nobody here polls for the last time when the server stops; a slow machine is not late."""
    monkeypatch.setattr(engine, "LAST_WORDS", 0.01)
    monkeypatch.setattr(engine, "PROBES_WITHIN", 600.0)


def sid_of(text):
    return text.split('"sid":"')[1].split('"')[0]


async def raw_post(http, sid, body=b"", size=1000):
    """A request whose body may not be whole."""
    url = http._base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST {OPEN}polling&sid={sid} HTTP/1.1\r\nhost: {url.host}:{url.port}\r\n"
    writer.write(f"{head}content-length: {size}\r\n\r\n".encode() + body)
    return reader, writer


async def cut_off(reader, writer):
    """What it is answered, when it is hung up on."""
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 400 ") and b"connection: close" in answer.lower()


# strangers


@pytest.mark.parametrize("packet", ["40", f"40{LONG},"])
async def test_who_is_refused_again_and_again_is_hung_up_on(packet):
    async with engine_of(secret=SECRET) as (connections, http):
        async with http.ws_connect(f"{OPEN}websocket") as line:
            await line.receive_str()
            for _ in range(server.MOST_REFUSALS):
                await line.send_str(packet)
                assert (await line.receive_str()).startswith("44")
            assert (await line.receive()).type == aiohttp.WSMsgType.CLOSE
        assert connections == {}


async def test_a_stranger_that_does_not_read_is_not_written_to(monkeypatch):
    monkeypatch.setattr(server, "MOST_REFUSALS", 10**9)
    async with engine_of(secret=SECRET) as (connections, http):
        sid = sid_of((await polled(http))[1])
        packet = f"40{LONG},"
        packets = [packet] * (MOST_OF_A_STRANGER // len(f"{packet}|"))
        posting = asyncio.create_task(posted(http, sid, *packets))
        await until(lambda: connections[sid].is_full)
        one = connections[sid]
        await until(lambda: one._room is not None)  # it waits until the client reads
        assert one._size < connections_module.MOST_WAITING + 1000
        one.close()
        await posting
        assert connections == {}  # nothing of a stranger is kept until it polls


async def test_there_is_no_namespace_but_one():
    async with engine_of() as (_, http), http.ws_connect(f"{OPEN}websocket") as line:
        await line.receive_str()
        await line.send_str("40")
        assert (await line.receive_str()).startswith("40")
        await line.send_str("40/admin,")
        assert await line.receive_str() == '44/admin,{"message":"Invalid namespace"}'
        for packet in ('42/admin,7["session:leave"]', "41/admin,", '428["session:leave"]'):
            await line.send_str(packet)
        assert await line.receive_str() == '438[{"ok":true}]'


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_stranger_says_no_more_over_a_websocket_than_who_it_is(is_known):
    long = f'42["session:leave",{{"x":"{"x" * MOST_OF_A_STRANGER}"}}]'
    async with engine_of(secret=SECRET) as (_, http), http.ws_connect(f"{OPEN}websocket") as line:
        await line.receive_str()
        if is_known:
            await line.send_str("40" + json.dumps({"token": token()}))
            assert (await line.receive_str()).startswith("40")
        await line.send_str(long)
        await line.send_str('427["session:leave"]')
        answer = await line.receive()
        assert (answer.data == '437[{"ok":true}]') is is_known
        assert (line.close_code == TOO_LARGE) is not is_known


async def test_who_said_by_polling_who_it_is_may_say_much_over_its_websocket():
    long = f'42["session:leave",{{"x":"{"x" * MOST_OF_A_STRANGER}"}}]'
    async with engine_of() as (_, http):
        sid = await opened(http)
        assert await posted(http, sid, long) == (200, "ok")
        async with probed(http, sid) as line:
            await line.send_str("5")
            await line.send_str(long)
            await line.send_str('427["session:leave"]')
            assert await line.receive_str() == '437[{"ok":true}]'


async def test_a_stranger_says_no_more_by_polling_than_who_it_is():
    async with engine_of(secret=SECRET) as (connections, http):
        sid = sid_of((await polled(http))[1])
        assert await posted(http, sid, "4" + "x" * MOST_OF_A_STRANGER) == CUT_OFF
        assert connections == {}


# bodies


async def test_who_posts_twice_at_once_is_hung_up_on():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        first = await raw_post(http, sid, b"4")
        await until(lambda: connections[sid].is_posting)
        assert await posted(http, sid, "3") == CUT_OFF
        assert await cut_off(*first)
        assert await polled(http, sid) == (200, "1")
        assert connections == {}


async def test_who_posts_while_much_of_it_waits_is_hung_up_on():
    async with engine_of() as (connections, http):
        sid = await opened(http)
        connections[sid]._unread = connections_module.MOST_UNREAD + 1
        assert await posted(http, sid, "3") == CUT_OFF
        assert not connections[sid].is_open


async def test_a_body_that_never_ends_is_given_up(monkeypatch):
    async with engine_of() as (connections, http):
        sid = await opened(http)
        monkeypatch.setattr(polling, "SLOWEST_BODY", 0.05)
        assert await cut_off(*await raw_post(http, sid, b"4"))
        assert not connections[sid].is_open


async def test_a_body_is_given_up_when_its_connection_is_over():
    async with engine_of() as (connections, http):
        sid = sid_of((await polled(http))[1])
        slow = await raw_post(http, sid, b"4")
        await until(lambda: connections[sid].reading)
        connections[sid].close()
        assert await cut_off(*slow)
        assert connections == {}


# websockets that are tried out


async def test_a_request_that_waits_ends_when_a_websocket_takes_over(monkeypatch):
    monkeypatch.setattr(polling, "WHILE_PROBING", 600.0)
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with probed(http, sid) as line:
            waiting = asyncio.create_task(polled(http, sid))
            await until(lambda: connections[sid].poll)
            await line.send_str("5")
            assert await waiting == (200, "6")


@pytest.mark.parametrize("said", [[], ["2probe"]])
async def test_another_websocket_does_not_spoil_the_first(said):
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with probed(http, sid) as line:
            async with http.ws_connect(f"{OPEN}websocket&sid={sid}") as other:
                for packet in said:
                    await other.send_str(packet)
                    assert (await other.receive()).type == aiohttp.WSMsgType.CLOSE
            await line.send_str("5")
            await line.send_str('421["session:leave"]')
            assert await line.receive_str() == '431[{"ok":true}]'


async def test_a_websocket_that_is_tried_out_for_long_is_given_up(monkeypatch):
    monkeypatch.setattr(engine, "ROUND", 0.02)
    async with engine_of() as (connections, http):
        sid = await opened(http)
        async with probed(http, sid) as line:
            monkeypatch.setattr(engine, "PROBES_WITHIN", 0.0)
            while not line.closed:
                await line.receive()
        assert connections[sid].is_open and connections[sid].probe is None
