"""Event streams: through the middleware goes the head, and the rest straight to the server."""

import asyncio
import re
import time
from contextlib import asynccontextmanager
from itertools import count

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse
from starlette.routing import Route

from turnlog.buses.memory import MemoryBus
from turnlog.events.base import Stamped
from turnlog.events.cursor import BEGINNING
from turnlog.ports import LiveEvent, Watcher
from turnlog.telemetry.metrics import Metrics
from turnlog.testing import samples
from turnlog.testing.shown_turns import chunk, deaf, turn
from turnlog.testing.tabs import serve_sockets
from turnlog.transports import sends, sse, wire


def live():
    (placed,) = samples.placed(samples.asked())
    entry = Stamped(session_id="s", turn_id="t", envelope=placed, seq=0, position=0)
    return LiveEvent(entry, wire.encode(entry))


class Server:
    """An ASGI server with one client, which may go."""

    def __init__(self):
        self.sent, self.goes, self.metrics = [], asyncio.Event(), Metrics()
        self.was_asked = self.is_closed = False
        self.live = live()

    async def receive(self):
        if not self.was_asked:
            self.was_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.goes.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)

    async def endless_text(self):
        try:
            yield "begins"
            await asyncio.Event().wait()
        finally:
            self.is_closed = True

    def endless(self, give):
        return self.batches(give, endless=True)

    async def batches(self, give, *, endless=False):
        try:
            yield [self.live]
            yield []
            if endless:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True

    @property
    def open_streams(self):
        return 'turnlog_open_streams{transport="sse"} 1\n' in self.metrics.page()


GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": [], "asgi": {}}


async def test_only_the_head_goes_through_the_middleware():
    server, through = Server(), []

    class Counting:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            async def counted(message):
                through.append(message["type"])
                await send(message)

            await self.app(scope, receive, counted)
            through.append("returned")

    async def handle(request):
        return sse.EventStream(server.batches, server.metrics)

    app = sse.Streams(routes=[Route("/", handle)], middleware=[Middleware(Counting)])
    await app(dict(SCOPE), server.receive, server.send)
    assert through == ["http.response.start", "returned"]
    first, second, last = [message["body"] for message in server.sent[1:]]
    assert first == sse.frames([server.live]) and second == sse.ALIVE and last == b""
    assert [message["more_body"] for message in server.sent[1:]] == [True, True, False]


async def test_in_any_other_application_it_streams_as_well():
    server = Server()
    await sse.EventStream(server.batches, server.metrics)(SCOPE, server.receive, server.send)
    assert len(server.sent) == 4 and server.is_closed and not server.open_streams


async def test_the_end_of_a_turn_goes_out_with_the_end_of_its_stream():
    server, shown = (
        Server(),
        [LiveEvent(entry, wire.encode(entry)) for entry in turn(samples.completed())],
    )

    async def follow(give):
        for live in shown:
            yield [live]

    stream = sse.EventStream(follow, server.metrics, of_turn=True)
    await stream(SCOPE, server.receive, server.send)
    assert [message["body"] for message in server.sent[1:]] == [sse.frames([e]) for e in shown]
    assert [message["more_body"] for message in server.sent[1:]] == [True, False]


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


async def test_who_goes_ends_its_stream():
    server = Server()
    stream = sse.EventStream(server.endless, server.metrics)
    running = asyncio.create_task(stream(SCOPE, server.receive, server.send))
    await until(lambda: len(server.sent) == 3)
    assert server.open_streams and not running.done()
    server.goes.set()
    async with asyncio.timeout(60):
        await running
    assert server.is_closed and not server.open_streams and len(server.sent) == 3


@asynccontextmanager
async def endless_stream(request):
    """Over our server, whose stream nothing ends but its client."""
    server = Server()

    async def handle(request):
        return sse.EventStream(server.endless, server.metrics)

    async with serve_sockets(sse.Streams(routes=[Route("/", handle)])) as url:
        reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
        writer.write(request)
        async with asyncio.timeout(60):
            await reader.readuntil(sse.ALIVE)
        yield server, writer
        await until(lambda: server.is_closed)
        await until(lambda: not server.open_streams)


def asking():
    """The tasks that only wait until a client goes."""
    return [one for one in asyncio.all_tasks() if "Leaving" in one.get_coro().__qualname__]


@pytest.mark.parametrize(
    "rest",
    [b"", GET, GET.replace(b"x\r\n", b"x\r\ncontent-length: 9\r\n")],
    ids=["alone", "with another request behind", "with one behind whose body does not come"],
)
async def test_our_server_tells_when_a_client_goes(rest):
    async with endless_stream(GET + rest) as (server, writer):
        assert asking() == []
        writer.close()


@pytest.mark.parametrize("head", [b"", b"content-length: 9\r\n"])
async def test_any_answer_is_told_when_its_client_goes_though_others_wait_behind_it(head):
    server = Server()

    async def handle(request):
        return StreamingResponse(server.endless_text())

    async with serve_sockets(Starlette(routes=[Route("/", handle)])) as url:
        reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
        writer.write(GET + GET.replace(b"x\r\n", b"x\r\n" + head))
        async with asyncio.timeout(60):
            await reader.readuntil(b"begins")
        writer.close()
        await until(lambda: server.is_closed)


async def test_it_is_asked_while_more_of_a_request_comes():
    head = GET.replace(b"x\r\n", b"x\r\ncontent-length: 100000\r\n")
    async with endless_stream(head + b"some") as (server, writer):
        assert len(asking()) == 1
        writer.write(b"x" * 90_000)
        writer.close()


async def test_a_stream_ends_with_its_token_and_says_so():
    server = Server()
    stream = sse.EventStream(server.endless, server.metrics)
    stream.until = time.time() + 0.05
    async with asyncio.timeout(60):
        await stream(SCOPE, server.receive, server.send)
    assert server.sent[-1]["more_body"] is False and server.is_closed


async def test_a_stream_whose_time_comes_in_its_last_send_is_ended_too():
    server = Server()
    shown = [LiveEvent(entry, wire.encode(entry)) for entry in turn(samples.completed())]

    async def follow(give):
        yield shown

    async def send(message):
        if message.get("body"):
            await asyncio.Event().wait()  # the client does not read
        server.sent.append(message)

    stream = sse.EventStream(follow, server.metrics, of_turn=True)
    stream.until = time.time() + 0.05
    async with asyncio.timeout(60):
        await stream(SCOPE, server.receive, send)
    assert server.sent[-1]["more_body"] is False


async def test_a_large_batch_is_sent_in_parts_the_last_of_which_ends_the_stream(monkeypatch):
    monkeypatch.setattr(sends, "MOST_TOGETHER", 1)
    server = Server()
    shown = [LiveEvent(entry, wire.encode(entry)) for entry in turn(samples.completed())]

    async def follow(give):
        yield shown

    stream = sse.EventStream(follow, server.metrics, of_turn=True)
    await stream(SCOPE, server.receive, server.send)
    assert [message["body"] for message in server.sent[1:]] == [sse.frames([e]) for e in shown]
    assert [message["more_body"] for message in server.sent[1:]] == [True, False]


async def test_a_stream_that_is_stopped_from_outside_says_so():
    server = Server()
    stream = sse.EventStream(server.endless, server.metrics)
    running = asyncio.create_task(stream(SCOPE, server.receive, server.send))
    await until(lambda: len(server.sent) == 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert server.is_closed and not server.open_streams


@asynccontextmanager
async def watched(*, wrapped=False):
    """A real server with one stream of a bus, its client's bytes, and what was given to it."""
    bus, given = MemoryBus(wire.encode), []

    def follow(give):
        def noted(live):
            given.append(give(live))
            return given[-1]

        return bus.follow("s", BEGINNING, Watcher(noted if give else None))

    async def handle(request):
        return sse.EventStream(follow, Metrics())

    async def wrapping(scope, receive, send):
        async def packed(message):
            await send(message)

        await streams(scope, receive, packed)

    streams = sse.Streams(routes=[Route("/", handle)])
    await bus.open(deaf)
    async with (
        serve_sockets(wrapping if wrapped else streams) as url,
        aiohttp.ClientSession() as http,
        http.get(url) as response,
    ):
        yield bus, response.content, given
    await bus.close()


def sleeps(bus):
    """Whether the stream waits for the next event."""
    channel = bus.channels["s"]
    return bool(channel.sleeping) and all(not each.sleep.done() for each in channel.sleeping)


async def read(content, end):
    """The stream up to there, without its signs of life."""
    body = b""
    async with asyncio.timeout(60):
        while end not in body:
            body += await content.readany()
    return body.replace(sse.ALIVE, b"")


@pytest.mark.parametrize("wrapped", [False, True], ids=["straight", "by somebody who may pack it"])
async def test_events_are_written_while_the_stream_sleeps(wrapped):
    shown = turn(chunk("a"), chunk("b"), samples.said("ab"), chunk("c"))
    async with watched(wrapped=wrapped) as (bus, content, given):
        for entry in shown:
            await until(lambda: sleeps(bus))
            bus.publish("s", [entry])
            body = sse.frames([LiveEvent(entry, wire.encode(entry))])
            assert await read(content, body) == body
        assert given == ([] if wrapped else [True] * 4)


async def test_a_client_that_does_not_read_gets_the_rest_when_it_does():
    async with watched() as (bus, content, given):
        await until(lambda: sleeps(bus))
        texts = (f"{number:07d}" * 20_000 for number in count())
        shown = turn()
        while given[-1:] != [False]:
            assert len(shown) < 300, "nobody noticed that the client does not read"
            await until(lambda: sleeps(bus))
            entry = turn(*[chunk("")] * len(shown), chunk(next(texts)))[-1]
            bus.publish("s", [*([] if len(shown) > 1 else shown), entry])
            shown.append(entry)
        bus.publish("s", [turn(*[chunk("")] * len(shown), chunk("the end"))[-1]])
        stream = await read(content, b"the end")
    words = re.findall(rb'"content":"([^"]*)', stream)
    whole = b"".join(words[1:])  # but for the question
    assert whole == "".join(entry.event.content for entry in shown[1:]).encode() + b"the end"
