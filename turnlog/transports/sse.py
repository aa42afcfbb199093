"""Server-sent events: `id` is the cursor to resume from, `event` the type, `data` the event."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from turnlog.events.base import Stamped
from turnlog.telemetry.metrics import Metrics
from turnlog.transports import wire

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not collect what should stream
}
ALIVE = b": still here\n\n"
Batches = AsyncGenerator[Sequence[Stamped], None]


class EventStream(StreamingResponse):
    """A stream that is counted for as long as its client watches."""

    def __init__(self, batches: Batches, metrics: Metrics) -> None:
        super().__init__(frames(batches), headers=HEADERS)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._metrics.watching("sse"):
            await super().__call__(scope, receive, send)


def frame(at: Stamped) -> bytes:
    head = f"id: {at.cursor}\nevent: {at.event.type}\n"
    return b"%sdata: %s\n\n" % (head.encode(), wire.encode(at))


async def frames(batches: Batches) -> AsyncIterator[bytes]:
    """One write a batch: what arrived together goes out together. An empty one is a heartbeat."""
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(map(frame, batch)) if batch else ALIVE
