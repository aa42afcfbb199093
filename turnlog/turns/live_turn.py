"""A running turn and those who watch it. Nobody who watches can slow it down.

It keeps what was shown until it is over, so that whoever comes late, or a second time with
the same request, sees it from the start.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import Any

from turnlog.buses.bell import HEARTBEAT, Bell
from turnlog.errors import TimedOut
from turnlog.events.base import Event, Stamped

Deliver = Callable[[Event], Awaitable[None]]
End = Callable[[BaseException | None], Awaitable[None]]


class LiveTurn:
    """The handle of a turn that runs by itself."""

    def __init__(self, turn_id: str, session_id: str) -> None:
        self.turn_id = turn_id
        self.session_id = session_id
        self.over = asyncio.Event()
        self.deliver: Deliver | None = None  # an event from outside, once the turn has begun
        self._shown: list[Sequence[Stamped]] = []
        self._waiting: set[Bell] = set()
        self._because: BaseException | None = None
        self._work: asyncio.Task[None] | None = None

    def show(self, batch: Sequence[Stamped]) -> None:
        if batch:
            self._shown.append(batch)
            self._wake()

    async def run(self, work: Coroutine[Any, Any, None], end: End, limit: float) -> None:
        """Do the work, at most for `limit` seconds; then end the turn with what stopped it."""
        self._work = asyncio.create_task(work, name=f"turn {self.turn_id}")
        if self._because is not None:
            self._work.cancel()
        try:
            _, late = await asyncio.wait([self._work], timeout=limit)
            if late:
                self.stop(TimedOut(f"This took longer than {limit:g} seconds. Ask for less."))
                await asyncio.wait(late)
            if self._work.cancelled():
                await end(self._because or asyncio.CancelledError())
            else:
                await end(self._work.exception())
        finally:
            self.finish()

    def stop(self, because: BaseException | None = None) -> None:
        """Stop the work, once; without a reason, because the user wants it."""
        if self._because is None:
            self._because = because or asyncio.CancelledError()
            if self._work is not None:
                self._work.cancel()

    def finish(self) -> None:
        """Nothing more will be shown."""
        self.over.set()
        self._wake()

    async def events(self) -> AsyncGenerator[Sequence[Stamped], None]:
        """Every batch from the first on, until the turn is over; an empty one is a heartbeat."""
        more = Bell(HEARTBEAT)
        self._waiting.add(more)
        seen = 0
        try:
            while True:
                while seen < len(self._shown):
                    seen += 1
                    yield self._shown[seen - 1]
                if self.over.is_set():
                    return
                await more.wait()
                if seen == len(self._shown) and not self.over.is_set():
                    yield []
        finally:
            self._waiting.discard(more)
            more.close()

    def _wake(self) -> None:
        for more in self._waiting:
            more.ring()
