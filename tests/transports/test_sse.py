"""Event streams: through the middleware goes the head, and the rest straight to the server."""

import asyncio
import time

import pytest
from starlette.middleware import Middleware
from starlette.routing import Route

from turnlog.events.base import Stamped
from turnlog.ports import LiveEvent
from turnlog.telemetry.metrics import Metrics
from turnlog.testing import samples
from turnlog.transports import sse, wire


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

    async def batches(self, *, endless=False):
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
        return sse.EventStream(server.batches(), server.metrics)

    app = sse.Streams(routes=[Route("/", handle)], middleware=[Middleware(Counting)])
    await app(dict(SCOPE), server.receive, server.send)
    assert through == ["http.response.start", "returned"]
    first, second, last = [message["body"] for message in server.sent[1:]]
    assert first == sse.frames([server.live]) and second == sse.ALIVE and last == b""
    assert [message["more_body"] for message in server.sent[1:]] == [True, True, False]


async def test_in_any_other_application_it_streams_as_well():
    server = Server()
    await sse.EventStream(server.batches(), server.metrics)(SCOPE, server.receive, server.send)
    assert len(server.sent) == 4 and server.is_closed and not server.open_streams


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


async def test_who_goes_ends_its_stream():
    server = Server()
    stream = sse.EventStream(server.batches(endless=True), server.metrics)
    running = asyncio.create_task(stream(SCOPE, server.receive, server.send))
    await until(lambda: len(server.sent) == 3)
    assert server.open_streams and not running.done()
    server.goes.set()
    async with asyncio.timeout(60):
        await running
    assert server.is_closed and not server.open_streams and len(server.sent) == 3


async def test_a_stream_ends_with_its_token_and_says_so():
    server = Server()
    stream = sse.EventStream(server.batches(endless=True), server.metrics)
    stream.until = time.time() + 0.05
    async with asyncio.timeout(60):
        await stream(SCOPE, server.receive, server.send)
    assert server.sent[-1]["more_body"] is False and server.is_closed


async def test_a_stream_that_is_stopped_from_outside_says_so():
    server = Server()
    stream = sse.EventStream(server.batches(endless=True), server.metrics)
    running = asyncio.create_task(stream(SCOPE, server.receive, server.send))
    await until(lambda: len(server.sent) == 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert server.is_closed and not server.open_streams
