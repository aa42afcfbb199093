"""Waiting until a turn of a session comes to rest, in whichever process it runs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

SOON = 0.25  # seconds after which one looks again: signals may get lost, and so may processes


class Wake(asyncio.Event):
    """Set when a turn of its session is over, or waits."""

    async def within(self, seconds: float) -> bool:
        """Wait for it. Says whether it came."""
        try:
            async with asyncio.timeout(seconds):
                return await self.wait()
        except TimeoutError:
            return False


class Wakes:
    """Those who wait, by session."""

    def __init__(self) -> None:
        self._waiting: dict[Wake, str] = {}

    @contextmanager
    def of(self, session_id: str) -> Iterator[Wake]:
        wake = Wake()
        self._waiting[wake] = session_id
        try:
            yield wake
        finally:
            del self._waiting[wake]

    def wake(self, session_id: str) -> None:
        for wake, awaited in self._waiting.items():
            if awaited == session_id:
                wake.set()

    def wake_all(self) -> None:
        for wake in self._waiting:
            wake.set()
