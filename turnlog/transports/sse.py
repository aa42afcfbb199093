"""Server-sent events: `id` is the cursor to resume from, `event` the type, `data` the event."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from turnlog.ports import LiveEvent
from turnlog.telemetry.metrics import Metrics

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not collect what should stream
}
ALIVE = b": still here\n\n"
Live = AsyncGenerator[Sequence[LiveEvent], None]


class EventStream(StreamingResponse):
    """A stream that is counted for as long as its client watches."""

    def __init__(self, batches: Live, metrics: Metrics) -> None:
        super().__init__((), headers=HEADERS)
        self._batches = batches
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._metrics.watching("sse"):
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """One write a batch: what arrived together goes out together."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                body = frames(batch)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def frames(batch: Sequence[LiveEvent]) -> bytes:
    """The events of a batch, around the JSON that all who watch share; or a heartbeat."""
    body = b""
    for live in batch:
        placed, position = live.entry.envelope, live.entry.position
        screen = -1 if placed.index is None else placed.index
        head = f"id: {position}.{screen}\nevent: {placed.event.__struct_config__.tag}\ndata: "
        body += b"%s%s\n\n" % (head.encode(), live.json)
    return body or ALIVE
