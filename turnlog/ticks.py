"""Moments that all sessions share: time in ticks of so many seconds.

Sessions that wake up together find the processor's caches warm: ten of them cost the server less
than ten that wake it one by one, and what they write shares a commit.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

_log = logging.getLogger(__name__)
EARLY = 0.002  # seconds that a timer may be early
BREATH = 0.01  # seconds that the calls of one tick are made on end


def tick_of(moment: float, seconds: float) -> int:
    """The number of the tick that the moment is in."""
    return int((moment + EARLY) // seconds)


def next_tick(moment: float, seconds: float) -> float:
    """When the next one begins."""
    return (tick_of(moment, seconds) + 1) * seconds


class Ticks:
    """Calls many at the next tick, with one timer for all of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[Callable[[], None]] = []

    def call_next(self, call: Callable[[], None]) -> None:
        """Call it once, when the next tick begins."""
        if not self._waiting or self._loop is None or not self._loop.is_running():
            self._loop, self._waiting = asyncio.get_running_loop(), []
            self._loop.call_at(next_tick(self._loop.time(), self._seconds), self._begin)
        self._waiting.append(call)

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._call(deque(waiting))

    def _call(self, waiting: deque[Callable[[], None]]) -> None:
        """Some of them; where that takes long, others have their turn before the rest."""
        began = time.monotonic()  # a loop's own clock may stand still in between
        while waiting:
            try:
                waiting.popleft()()
            except Exception:
                _log.exception("what was to be done at a tick failed")
            if waiting and time.monotonic() - began > BREATH:
                asyncio.get_running_loop().call_soon(self._call, waiting)
                return
