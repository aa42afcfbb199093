"""Moments that all sessions share: time in ticks of so many seconds.

Sessions that wake up together find the processor's caches warm: ten of them cost the server less
than ten that wake it one by one, and what they write shares a commit.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

Call = Callable[[], bool]  # whether the next tick calls it too
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
    """Calls many at each tick, with one timer for all of them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls: list[Call] = []  # of the next tick
        self._is_set = False  # the timer

    def call(self, call: Call) -> None:
        """At each tick from the next one on, until it returns False."""
        if self._loop is None or not self._loop.is_running():  # those of another loop are gone
            self._loop, self._calls, self._is_set = asyncio.get_running_loop(), [], False
        self._calls.append(call)
        self._set(self._loop)

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._calls and not self._is_set:
            self._is_set = True
            loop.call_at(next_tick(loop.time(), self.seconds), self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        calls, self._calls, self._is_set = self._calls, [], False
        self._call(deque(calls), loop)

    def _call(self, calls: deque[Call], loop: asyncio.AbstractEventLoop) -> None:
        """Some of them; where that takes long, others have their turn before the rest."""
        began = time.monotonic()  # a loop's own clock may stand still in between
        while calls:
            call = calls.popleft()
            try:
                if call():
                    self._calls.append(call)
            except Exception:
                _log.exception("what was to be done at a tick failed")
            if calls and time.monotonic() - began > BREATH:
                loop.call_soon(self._call, calls, loop)
                return
        self._set(loop)
