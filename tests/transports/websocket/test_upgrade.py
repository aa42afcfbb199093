"""Our websockets under uvicorn, with a real client and with hostile bytes."""

import asyncio
import itertools
import struct

import pytest
from hostile_frames import HOSTILE, masked
from raw_websocket import HEAD, Flood, frame, raw, served, taken_by, until_eof
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.frames import Opcode

from turnlog.transports.websocket import connection

# a client of others


@pytest.mark.parametrize("message", ["", "Hällo", b"\x00\xff", "x" * 70_000, "y" * 1_000_000])
async def test_a_message_goes_and_comes_back(message):
    async with served() as url, connect(url, max_size=None) as line:
        await line.send(message)
        assert await line.recv() == (message if isinstance(message, str) else message.hex())


async def test_fragments_pings_and_a_goodbye():
    async with served() as url, connect(url, subprotocols=["chat", "b"]) as line:
        assert line.subprotocol is None and line.protocol.extensions == []  # though offered
        await line.send(["a", "b", "c"])
        await (await line.ping("are you there?"))
        assert await line.recv() == "abc"
        await line.close(4001, "enough")
        assert line.close_code == 4001


async def test_a_client_that_reads_late_misses_nothing_and_costs_little():
    written = []

    def texts():
        for number in range(5000):
            written.append(number)
            yield f"{number:05}" * 1000

    app = taken_by(lambda: Flood(texts()))
    async with served(app) as url, connect(url, max_queue=1) as line:
        before = -1
        while before != len(written):  # it has come to a stop
            before = len(written)
            await asyncio.sleep(0.2)
        assert len(written) < 5000
        read = [int((await line.recv())[:5]) for _ in range(5000)]
        assert read == list(range(5000))


# applications


async def refuses(scope, receive, send):
    await send({"type": "websocket.close"})


async def explains(scope, receive, send):
    start = {"type": "websocket.http.response.start", "status": 409}
    await send(start | {"headers": [(b"content-type", b"text/plain")]})
    await send({"type": "websocket.http.response.body", "body": b"not ", "more_body": True})
    await send({"type": "websocket.http.response.body", "body": b"now"})


async def forgets(scope, receive, send):
    pass


async def fails(scope, receive, send):
    raise RuntimeError("a bug")


async def accepts(scope, receive, send):
    await receive()
    await send({"type": "websocket.accept"})  # nobody would read its messages


REFUSALS = {"close": (refuses, 403, b""), "explain": (explains, 409, b"not now")}
REFUSALS |= {
    "forget": (forgets, 500, b""),
    "fail": (fails, 500, b""),
    "accept": (accepts, 500, b""),
}


@pytest.mark.parametrize(("app", "status", "body"), REFUSALS.values(), ids=REFUSALS)
async def test_an_application_may_refuse(app, status, body, caplog):
    async with served(app) as url:
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
        assert (refused.value.response.status_code, refused.value.response.body) == (status, body)
    assert ("failed" in caplog.text) == (app in (fails, accepts))


async def test_a_listener_hears_that_its_client_has_gone():
    listener = Flood([])
    listener.drained = lambda: None
    async with served(taken_by(lambda: listener)) as url, raw(url) as (_, _, writer):
        writer.transport.abort()
        await listener.is_lost.wait()


# hostile frames


@pytest.fixture
def patient(monkeypatch):
    """Whoever is hung up on has a minute to read why."""
    monkeypatch.setattr(connection, "GOODBYE", 60.0)


SENT = {name: (data, code) for name, (data, code) in HOSTILE.items() if code != 1009}
SENT["a length without end"] = HOSTILE["a length without end"]


@pytest.mark.parametrize(("data", "code"), SENT.values(), ids=SENT)
async def test_who_breaks_the_protocol_is_told_why_and_not_read_any_more(data, code, patient):
    async with served() as url, raw(url) as (_, reader, writer):
        writer.write(masked(Opcode.TEXT, b"before"))
        assert await frame(reader) == (0x81, b"before")
        writer.write(data + masked(Opcode.TEXT, b"after"))
        first, said = await frame(reader)
        assert (first, struct.unpack_from("!H", said)[0]) == (0x88, code)
        for _ in range(100):  # and whatever it sends now is dropped
            writer.write(b"x" * 100_000)
            await writer.drain()
        writer.write_eof()
        assert await until_eof(reader) == b""


async def test_who_does_not_say_goodbye_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(connection, "GOODBYE", 0.05)
    async with served() as url, raw(url) as (_, reader, writer):
        writer.write(HOSTILE["no mask"][0])
        assert (await frame(reader))[0] == 0x88
        assert await until_eof(reader) == b""


async def test_who_half_closes_and_does_not_read_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(connection, "GOODBYE", 0.05)
    listener = Flood(itertools.repeat("a" * 100_000))
    async with served(taken_by(lambda: listener)) as url, raw(url) as (_, reader, writer):
        writer.transport.pause_reading()
        writer.write_eof()
        await listener.is_lost.wait()  # and then the transport is given up


async def test_pings_are_answered_also_between_fragments():
    async with served() as url, raw(url) as (_, reader, writer):
        writer.write(masked(Opcode.TEXT, b"a", fin=False) + masked(Opcode.PING, b"there?"))
        assert await frame(reader) == (0x8A, b"there?")
        writer.write(masked(Opcode.PONG, b"nobody asked") + masked(Opcode.CONT, b"b"))
        assert await frame(reader) == (0x81, b"ab")
        writer.write(masked(Opcode.CLOSE, b"\x03\xe8"))
        assert await frame(reader) == (0x88, b"\x03\xe8")
        assert await until_eof(reader) == b""


async def test_frames_before_the_answer_are_too_early():
    async def slow(scope, receive, send):
        await asyncio.Event().wait()

    async with served(slow) as url:
        host, port = url.split("//")[1].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        lines = "".join(f"{name}: {value}\r\n" for name, value in HEAD.items())
        writer.write(f"GET / HTTP/1.1\r\n{lines}\r\n".encode())
        while not writer.is_closing() and not reader.at_eof():
            writer.write(masked(Opcode.TEXT, b"a"))
            await asyncio.sleep(0.01)
        assert await until_eof(reader) == b""
        writer.close()
