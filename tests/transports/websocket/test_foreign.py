"""The same line over a websocket of somebody else's server."""

import asyncio

import pytest

from turnlog.transports.websocket import foreign
from turnlog.transports.websocket.frames import MOST_BYTES, MOST_OF_A_STRANGER, Parcel
from turnlog.transports.websocket.line import serve


class Listener:
    def __init__(self):
        self.line, self.heard_ones, self.drains, self.losses = None, [], 0, 0

    def opened(self, line):
        self.line = line

    def heard(self, message):
        self.heard_ones.append(message)

    def drained(self):
        self.drains += 1

    def lost(self):
        self.losses += 1


class Host:
    """An ASGI server's websocket, whose client may stop reading."""

    def __init__(self):
        self.inbox, self.sent, self.reads = asyncio.Queue(), [], asyncio.Event()
        self.reads.set()
        self.inbox.put_nowait({"type": "websocket.connect"})

    async def send(self, message):
        await self.reads.wait()
        self.sent.append(message)
        if message["type"] == "websocket.close":
            self.inbox.put_nowait({"type": "websocket.disconnect"})

    async def until(self, condition):
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0)


async def opened():
    host, listener = Host(), Listener()
    task = asyncio.create_task(serve(listener, {"type": "websocket"}, host.inbox.get, host.send))
    await host.until(lambda: listener.line is not None)
    return host, listener, task


async def test_what_is_written_is_sent_in_its_order_and_then_it_hangs_up():
    host, listener, task = await opened()
    for number in range(50):
        listener.line.write(Parcel(b"%d" % number))
    listener.line.close(4000)
    listener.line.write(Parcel(b"too late"))
    await task
    texts = [message["text"] for message in host.sent[1:-1]]
    assert texts == [str(number) for number in range(50)]
    assert host.sent[-1] == {"type": "websocket.close", "code": 4000}
    assert listener.losses == 0  # it knows


async def test_a_client_that_does_not_read_makes_the_line_full_until_it_does():
    host, listener, task = await opened()
    host.reads.clear()
    while not listener.line.is_full:
        listener.line.write(Parcel(b"x" * 1000))
    assert listener.line._size <= foreign.MOST_WAITING + 1000
    host.reads.set()
    await host.until(lambda: listener.drains == 1)
    assert not listener.line.is_full
    host.inbox.put_nowait({"type": "websocket.disconnect"})
    await task
    assert listener.losses == 1


async def test_what_a_client_says_is_heard_unless_the_line_is_paused():
    host, listener, task = await opened()
    listener.line.pause_reading()
    for message in ({"text": "a"}, {"bytes": b"b"}, {"text": "c", "bytes": None}):
        host.inbox.put_nowait({"type": "websocket.receive", **message})
    await host.until(lambda: host.inbox.qsize() <= 2)
    assert len(listener.heard_ones) <= 1  # what it waited for already
    listener.line.resume_reading()
    await host.until(lambda: len(listener.heard_ones) == 3)
    assert listener.heard_ones == ["a", b"b", "c"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert listener.losses == 1


@pytest.mark.parametrize("kind", ["text", "bytes"])
@pytest.mark.parametrize("most", [MOST_OF_A_STRANGER, MOST_BYTES])
async def test_a_message_that_is_too_large_is_not_heard(kind, most):
    host, listener, task = await opened()
    if most == MOST_BYTES:
        listener.line.welcome()
    message = {"text": "a", "bytes": b"a"}[kind]
    for size in (most, most + 1, 1):
        host.inbox.put_nowait({"type": "websocket.receive", kind: message * size})
    async with asyncio.timeout(60):
        await task
    assert listener.heard_ones == [message * most]
    assert host.sent[-1] == {"type": "websocket.close", "code": 1009}
    assert listener.losses == 1


async def test_a_send_that_fails_hurts_nobody():
    host, listener, task = await opened()

    async def broken(message):
        raise OSError("gone")

    listener.line._send = broken
    listener.line.write(Parcel(b"a"))
    await host.until(lambda: listener.line._writing is None)
    host.inbox.put_nowait({"type": "websocket.disconnect"})
    await task
    assert listener.losses == 1


async def test_who_does_not_read_the_rest_is_given_up(monkeypatch):
    monkeypatch.setattr(foreign, "GOODBYE", 0.05)
    host, listener, task = await opened()
    host.reads.clear()
    listener.line.write(Parcel(b"a"))
    listener.line.close()
    async with asyncio.timeout(60):
        await task
    assert (len(host.sent), listener.losses) == (1, 0)
