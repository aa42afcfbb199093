"""Heals by itself, now and then: looks for turns and questions in line that nobody works on."""

import asyncio
import logging

from turnlog.turns.running_turns import RunningTurns

_log = logging.getLogger(__name__)
EVERY = 3.0  # seconds between two looks: one is cheap, and somebody may be watching


class Healer:
    """Looks every so many seconds, from when it is entered until it is left."""

    def __init__(self, turns: RunningTurns, every: float = EVERY) -> None:
        self._turns = turns
        self._every = every
        self._left = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._left.clear()
        self._task = asyncio.create_task(self._look_now_and_then())

    async def __aexit__(self, *exc: object) -> None:
        """What is being healed is healed first; nothing more is taken up."""
        self._left.set()
        self._turns.leave()
        if self._task is not None:
            await self._task

    async def look(self) -> None:
        """Heal what there is to heal. A store that fails now may do better the next time."""
        try:
            await self._turns.look_around()
        except Exception:
            _log.exception("turns that were left, and questions in line, could not be looked for")

    async def _look_now_and_then(self) -> None:
        while not self._left.is_set():
            try:
                async with asyncio.timeout(self._every):
                    await self._left.wait()
            except TimeoutError:
                await self.look()
