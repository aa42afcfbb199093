"""The handle of a running turn: stopped, timed out, and known to be over."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from turnlog.errors import TimedOut
from turnlog.events.base import Event
from turnlog.pipeline.turn_state import TurnState

Deliver = Callable[[Event], Awaitable[None]]
Work = Callable[[], Coroutine[Any, Any, None]]
End = Callable[[BaseException | None], Awaitable[None]]


class OnEnd(Protocol):
    """Has something to do when a turn is over and its end was shown. Nobody waits for it."""

    def add(self, state: TurnState) -> None:
        """This turn is over. Returns at once."""
        ...

    async def done(self) -> None:
        """Wait until all of it is done."""
        ...


class LiveTurn:
    """A turn that this process works on. It does not know who watches it."""

    def __init__(self, turn_id: str, session_id: str) -> None:
        self.turn_id = turn_id
        self.session_id = session_id
        self.over = asyncio.Event()  # nobody works on it here any more
        self.deliver: Deliver | None = None  # an event from outside, once the turn has begun
        self.begun = asyncio.Event()  # it takes events from outside; or is over
        self._because: BaseException | None = None
        self._work: asyncio.Task[None] | None = None

    def begin(self, deliver: Deliver) -> None:
        """From now on the turn takes events from outside."""
        self.deliver = deliver
        self.begun.set()

    def end(self) -> None:
        """Nobody works on the turn here any more."""
        self.begun.set()
        self.over.set()

    async def run(self, work: Work, end: End, limit: float) -> None:
        """Do the work, at most for `limit` seconds; then end the turn with what stopped it."""
        self._work = asyncio.create_task(work(), name=f"turn {self.turn_id}")
        if self._because is not None:
            self._work.cancel()
        _, late = await asyncio.wait([self._work], timeout=limit)
        if late:
            self.stop(TimedOut(f"This took longer than {limit:g} seconds. Ask for less."))
            await asyncio.wait(late)
        if self._work.cancelled():
            await end(self._because or asyncio.CancelledError())
        else:
            await end(self._work.exception())

    def stop(self, because: BaseException | None = None) -> None:
        """Stop the work, once; without a reason, because the user wants it."""
        if self._because is None:
            self._because = because or asyncio.CancelledError()
            if self._work is not None:
                self._work.cancel()
