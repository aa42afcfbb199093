"""Joins chunks that come within a window into one. The first of a window goes out at once.

Every event costs the server and the client, and nobody reads faster than twenty times a second.
A model that is read at this pace already is not held up: its pieces come when a window begins. If
a late one has to wait once, it goes out with the next, which comes before the timer.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from turnlog.events.chunks import are_chunks, as_one
from turnlog.ports import Batch, Output
from turnlog.ticks import next_tick, tick_of

LATER = 0.005  # seconds that the timer leaves to the pieces that come when a window begins


class Pacer:
    """Shows a chunk, then holds the next ones back until the next window of so many seconds."""

    def __init__(self, emit: Callable[[Batch], None], window: float) -> None:
        self._emit = emit
        self._window = window
        self._loop = asyncio.get_running_loop()  # asked for once: that costs a system call
        self._shown = -1  # the window that the last chunk was shown in
        self._held: list[Batch] = []
        self._timer: asyncio.TimerHandle | None = None

    def takes(self, batch: Batch) -> bool:
        """Whether the batch has only chunks. Before any other batch, call `flush`."""
        return are_chunks(batch.outputs)

    def add(self, batch: Batch) -> Literal[True]:
        """Show it now, or with the next window. True, as `Ask.straight` says: it is taken."""
        if not self._window:
            self._emit(batch)
        elif (tick := tick_of(now := self._loop.time(), self._window)) <= self._shown:
            self._held.append(batch)
            if self._timer is None:
                due = next_tick(now, self._window) + LATER
                self._timer = self._loop.call_at(due, self._show)
        else:
            self._shown = tick
            if self._timer is None:
                self._emit(batch)
            else:
                self._held.append(batch)
                self.flush()
        return True

    def flush(self) -> None:
        """Show the held chunks now, one batch for each call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._held:
            return
        held, self._held = self._held, []
        calls: dict[str, list[Batch]] = {}
        for batch in held:
            calls.setdefault(batch.call, []).append(batch)
        for call, batches in calls.items():
            self._emit(Batch(_joined(batches), batches[0].agent, call))

    def _show(self) -> None:
        self._shown = tick_of(self._loop.time(), self._window)
        self.flush()


def _joined(held: Sequence[Batch]) -> list[Output]:
    """Adjacent chunks of one block as one."""
    joined: list[Output] = []
    for output in (output for batch in held for output in batch.outputs):
        one = as_one(joined[-1], output) if joined else None
        if one is not None:
            joined[-1] = one
        else:
            joined.append(output)
    return joined
