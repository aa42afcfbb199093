"""Sends may take so long and no longer: a client that reads nothing holds no task for ever.

One look at all of them now and then, instead of a timer for each: with hundreds of sockets
the timers were a tenth of the server's work.
"""

import asyncio
from typing import Any

from starlette.types import Message, Send

_LATE = "nobody reads"  # how a task knows that it was cancelled from here


class Sends:
    """The sends that are under way, by their tasks, and since when."""

    def __init__(self) -> None:
        self._begun: dict[asyncio.Task[Any], float] = {}

    def watched(self, send: Send) -> Send:
        """The same send. It raises TimeoutError where `give_up` finds it too old."""

        async def watched_send(frame: Message) -> None:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            self._begun[task] = loop.time()
            try:
                await send(frame)
            except asyncio.CancelledError as cancelled:
                if cancelled.args != (_LATE,):
                    raise
                task.uncancel()
                raise TimeoutError(_LATE) from None
            finally:
                del self._begun[task]

        return watched_send

    def give_up(self, before: float) -> None:
        """On every send that began before that time of the loop."""
        for task, begun in list(self._begun.items()):
            if begun < before:
                task.cancel(_LATE)
