"""Heals by itself, now and then: looks for turns whose process has died since the last time."""

import asyncio
import contextlib
import logging

from turnlog.turns.active import RunningTurns

_log = logging.getLogger(__name__)
EVERY = 10.0  # seconds: so long may a dead process's turn stay unfinished


class Healer:
    """Looks at once when it is entered, and then every so many seconds until it is left."""

    def __init__(self, turns: RunningTurns, every: float = EVERY) -> None:
        self._turns = turns
        self._every = every
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        await self._turns.heal()
        self._task = asyncio.create_task(self._look_now_and_then())

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Heal what there is to heal. A store that fails now may do better the next time."""
        try:
            await self._turns.heal()
        except Exception:
            _log.exception("turns that were left unfinished could not be looked for")

    async def _look_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self.look()
