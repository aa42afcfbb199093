"""Server-sent events: `id` is the cursor to resume from, `event` the type, `data` the event."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from turnlog.events.base import Stamped
from turnlog.transports import wire

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not collect what should stream
}


def frame(at: Stamped) -> bytes:
    head = f"id: {at.cursor}\nevent: {at.event.type}\n"
    return b"%sdata: %s\n\n" % (head.encode(), wire.encode(at))


async def frames(batches: AsyncGenerator[Sequence[Stamped], None]) -> AsyncIterator[bytes]:
    """One write a batch: what arrived together goes out together."""
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(map(frame, batch))
