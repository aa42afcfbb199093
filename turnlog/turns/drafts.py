"""Keeps what was shown of an unfinished answer, in case the process dies.

The text goes into the turn's row, not into the log, about once a second while it grows;
`recovery` makes a message of it.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import msgspec

from turnlog.errors import TurnOver
from turnlog.pipeline.turn_state import Drafts, TurnState
from turnlog.ports import Turns

_log = logging.getLogger(__name__)

# What was shown for a second must survive, so the save is on its way a little earlier.
EVERY = 0.9
TICK = 0.3  # all turns save at the same moments, and so share one commit


class DraftKeeper:
    """Saves the draft of one turn when it has changed, never more often than EVERY."""

    def __init__(self, state: TurnState, turns: Turns) -> None:
        self._state = state
        self._turns = turns
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def touch(self) -> None:
        """Something was shown."""
        if self._timer is None and self._state.drafts:
            loop = asyncio.get_running_loop()
            due = (loop.time() + EVERY) // TICK * TICK
            self._timer = loop.call_at(due, self._save)

    async def close(self) -> None:
        """Nothing is saved after this."""
        if self._timer is not None:
            self._timer.cancel()
        if self._saving is not None:
            await asyncio.wait([self._saving])

    def _save(self) -> None:
        self._timer = None
        state = self._state
        if state.drafts:
            drafts = Drafts(index=state.index, answers=list(state.drafts.values()))
            saved = self._turns.save_draft(state.turn, msgspec.json.encode(drafts))
            self._saving = asyncio.create_task(_reported(saved))


async def _reported(saving: Coroutine[Any, Any, None]) -> None:
    """A draft that cannot be saved is no reason to stop answering."""
    try:
        await saving
    except TurnOver:
        _log.warning("a draft was not saved: the turn is in other hands")
    except Exception:
        _log.exception("a draft could not be saved")
