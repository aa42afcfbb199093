"""The handle of a running turn: stopped, timed out, and known to be over."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from turnlog.errors import TimedOut, TurnOver
from turnlog.events.base import Event
from turnlog.ports import Turn

Deliver = Callable[[Event], Awaitable[None]]
Work = Callable[[], Coroutine[Any, Any, None]]
End = Callable[[BaseException | None], Awaitable[None]]


class LiveTurn:
    """A turn that this process works on. It does not know who watches it."""

    def __init__(self, turn_id: str, session_id: str, user_id: str) -> None:
        self.turn_id = turn_id
        self.session_id = session_id
        self.user_id = user_id
        self.over = asyncio.Event()  # nobody works on it here any more
        self.deliver: Deliver | None = None  # an event from outside, once the turn has begun
        self.told: set[object] = set()  # decisions that another process has told, by `told_as`
        self.begun = asyncio.Event()  # it takes events from outside; or is over
        self._because: BaseException | None = None
        self._working: asyncio.Task[Any] | None = None  # while it may be stopped

    @classmethod
    def of(cls, turn: Turn) -> "LiveTurn":
        return cls(turn.id, turn.session_id, turn.user_id)

    def begin(self, deliver: Deliver) -> None:
        """From now on the turn takes events from outside."""
        self.deliver = deliver
        self.begun.set()

    async def takes(self, event: Event) -> bool:
        """Whether the turn has taken the event from outside. If not, it has come to rest."""
        await self.begun.wait()
        if self.deliver is not None:
            with contextlib.suppress(TurnOver):  # it has just begun to wait, or ended
                await self.deliver(event)
                return True
        await self.over.wait()
        return False

    def end(self) -> None:
        """Nobody works on the turn here any more."""
        self.deliver = None  # it refers to all that the turn worked with, and that refers to us
        self.begun.set()
        self.over.set()

    async def run(self, work: Work, end: End, limit: float) -> None:
        """Do the work, at most for `limit` seconds; then end the turn with what stopped it."""
        timer = asyncio.get_running_loop().call_later(limit, self._stop_late, limit)
        self._working = task = asyncio.current_task()
        assert task is not None
        failure = self._because
        try:
            if failure is None:
                await work()
                if self._because is not None:  # a stop in its last step, which has not come up yet
                    await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            if self._because is None and task.cancelling():
                raise  # the loop ends, and the turn with it: it is healed later
            task.uncancel()
            failure = self._because or error
        except Exception as error:
            failure = error
        finally:
            self._working = None
            timer.cancel()
        await end(failure)

    def stop(self, because: BaseException | None = None) -> None:
        """Stop the work, once; without a reason, because the user wants it."""
        if self._because is None:
            self._because = because or asyncio.CancelledError()
            if self._working is not None:
                self._working.cancel()

    def _stop_late(self, limit: float) -> None:
        self.stop(TimedOut(f"This took longer than {limit:g} seconds. Ask for less."))
