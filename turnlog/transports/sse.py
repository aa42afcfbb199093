"""Server-sent events: `id` is the cursor to resume from, `event` the type, `data` the event.

A stream is open for hours. So only its head goes through the application's middleware, which then
returns; the events go straight to the server (`Streams`). That is a third of the memory of a
stream that waits, and six calls less for each batch. Events are given to the server while the
stream sleeps, as to a websocket.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from turnlog.events.kinds import ENDINGS
from turnlog.ports import Give, LiveEvent
from turnlog.telemetry.metrics import Metrics
from turnlog.transports.sends import is_one_send, sends_of

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not collect what should stream
}
HEAD = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
ALIVE = b": still here\n\n"
WHEN_GONE = "turnlog.when_gone"  # in a scope's extensions: a WhenGone of our server
REST = "turnlog.rest"  # in a scope: where an application leaves what it has not sent
ENDS = "turnlog.ends"  # in a scope: what is called when all is sent, or nobody is there any more
Live = AsyncGenerator[Sequence[LiveEvent], None]
Follow = Callable[[Give | None], Live]
Stream = Callable[[Receive, Send], Awaitable[None]]
# Has this called when the client goes; None: no more. False: it cannot, one has to receive.
WhenGone = Callable[[Callable[[], None] | None], bool]


class Streams(Starlette):
    """An application whose event streams go on when it has returned, and which knows their end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rest: list[Stream] = []
        ends: list[Callable[[], None]] = []
        scope[REST], scope[ENDS] = rest, ends
        try:
            await super().__call__(scope, receive, send)
            for stream in rest:
                await stream(receive, send)
        finally:
            for end in ends:
                end()


class EventStream(Response):
    """A stream that is counted for as long as its client watches."""

    until: float | None = None  # seconds since 1970: it ends then, properly

    def __init__(self, follow: Follow, metrics: Metrics, *, of_turn: bool = False) -> None:
        """`follow`: the batches, but for the events that it has given. `of_turn`: the end of a
        turn is their end, and so the end of the stream goes out with it.
        """
        self._follow = follow
        self._metrics = metrics
        self._endings = ENDINGS if of_turn else ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = partial(self._stream, (scope.get("extensions") or {}).get(WHEN_GONE))
        await send({"type": "http.response.start", "status": 200, "headers": [*HEAD]})
        if REST in scope:
            scope[REST].append(stream)
        else:
            await stream(receive, send)

    async def _stream(self, when_gone: WhenGone | None, receive: Receive, send: Send) -> None:
        """The batches, in few writes, until they end, the time comes, or the client goes."""
        batches = self._follow(straight(send))
        me = asyncio.current_task()
        assert me is not None
        leaving = Leaving(me, receive, when_gone)
        limit = asyncio.timeout(None if self.until is None else max(0.0, self.until - time.time()))
        is_over = False
        try:
            with self._metrics.watching("sse"):
                async with aclosing(batches), limit:
                    async for batch in batches:
                        for together in sends_of(batch):
                            ends = self._ends(together)
                            if ends:
                                leaving.ignore()  # a server takes who is answered for gone
                            await send(_part(frames(together), is_last=ends))
                            is_over = ends
                        del batch, together  # neither is kept while nothing comes
        except TimeoutError:
            if not limit.expired():
                raise
        except asyncio.CancelledError:
            if not leaving.is_noticed:
                raise
            me.uncancel()
            return
        finally:
            leaving.ignore()
        if not is_over:
            await send(_part(b"", is_last=True))

    def _ends(self, events: Sequence[LiveEvent]) -> bool:
        return bool(events) and type(events[-1].entry.envelope.event) in self._endings


def _part(body: bytes, *, is_last: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": not is_last}


def straight(send: Send) -> Give | None:
    """Writes events, as `send` would, but wakes nobody for them. None: what `send` does is unknown,
    because it is not that of uvicorn: somebody may pack what goes through it.
    """
    uvicorn = sys.modules.get("uvicorn.protocols.http.httptools_impl")
    response: Any = getattr(send, "__self__", None)
    if uvicorn is None or type(response) is not uvicorn.RequestResponseCycle:
        return None

    def give(events: Sequence[LiveEvent]) -> bool:
        if response.flow.write_paused or response.transport.is_closing():
            return False  # a client that has to read first, or has gone
        if not is_one_send(events):
            return False  # somebody has to look between two of them whether it reads
        body = frames(events)
        response.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
        return True

    return give if response.chunked_encoding else None


class Leaving:
    """Cancels a stream whose client leaves. Our server tells when it does; another one is asked,
    by a task."""

    __slots__ = ("_asking", "_stream", "_when_gone", "is_noticed")

    def __init__(
        self, stream: asyncio.Task[object], receive: Receive, when_gone: WhenGone | None
    ) -> None:
        self.is_noticed = False
        self._stream = stream
        self._when_gone = when_gone
        self._asking: asyncio.Task[None] | None = None
        if when_gone is None or not when_gone(self._notice):
            self._asking = asyncio.create_task(self._ask(receive))

    def ignore(self) -> None:
        """From now on: the stream is over."""
        if self._asking is not None:
            self._asking.cancel()
        elif self._when_gone is not None:
            self._when_gone(None)
            self._when_gone = None

    async def _ask(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._notice()

    def _notice(self) -> None:
        self.is_noticed = True
        self._stream.cancel()


def frames(batch: Sequence[LiveEvent]) -> bytes:
    """The events of a batch, around the JSON that all who watch share; or a heartbeat."""
    body = b""
    for live in batch:
        placed, position = live.entry.envelope, live.entry.position
        screen = -1 if placed.index is None else placed.index
        head = f"id: {position}.{screen}\nevent: {placed.event.__struct_config__.tag}\ndata: "
        body += b"%s%s\n\n" % (head.encode(), live.json)
    return body or ALIVE
