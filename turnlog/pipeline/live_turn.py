"""A running turn and those who watch it. Nobody who watches can slow it down.

It keeps what was shown until it is over, so that whoever comes late, or a second time with
the same request, sees it from the start.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

from turnlog.events.base import Stamped
from turnlog.events.kinds import Error
from turnlog.pipeline.turn import SHUTDOWN


class LiveTurn:
    """The handle of a turn that runs by itself."""

    def __init__(self, turn_id: str, session_id: str) -> None:
        self.turn_id = turn_id
        self.session_id = session_id
        self._shown: list[Sequence[Stamped]] = []
        self._waiting: set[asyncio.Event] = set()
        self._task: asyncio.Task[Error | None] | None = None
        self._told_to_end = False

    def show(self, batch: Sequence[Stamped]) -> None:
        if batch:
            self._shown.append(batch)
            self._wake()

    def run(self, work: Coroutine[Any, Any, Error | None]) -> "asyncio.Task[Error | None]":
        self._task = asyncio.create_task(work, name=f"turn {self.turn_id}")
        self._task.add_done_callback(lambda _: self._wake())
        return self._task

    def shut_down(self) -> None:
        """End the turn now, keeping what was shown, because the server stops."""
        if self._task is not None and not self._told_to_end:
            self._told_to_end = True  # told again, it would drop what it is about to keep
            self._task.cancel(SHUTDOWN)

    async def wait(self) -> Error | None:
        assert self._task is not None
        return await asyncio.shield(self._task)

    async def events(self) -> AsyncIterator[Sequence[Stamped]]:
        """Every batch from the first on, until the turn is over."""
        more = asyncio.Event()
        self._waiting.add(more)
        seen = 0
        try:
            while True:
                while seen < len(self._shown):
                    seen += 1
                    yield self._shown[seen - 1]
                if self._task is None or self._task.done():
                    return
                more.clear()
                await more.wait()
        finally:
            self._waiting.discard(more)

    def _wake(self) -> None:
        for more in self._waiting:
            more.set()
