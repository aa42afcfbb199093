"""Keeps what was shown of an unfinished answer, in case the process dies.

The text goes beside the turn, not into the log, about once a second while it grows, and each time
only what is new; `recovery` makes a message of it.
"""

import asyncio
import logging

import msgspec

from turnlog.errors import TurnOver
from turnlog.pipeline.drafts import Drafts, Mark
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Turns

_log = logging.getLogger(__name__)

# What was shown for a second must survive, so the save is on its way a little earlier.
EVERY = 0.9
TICK = 0.3  # all turns save at the same moments, and so share one commit


class DraftKeeper:
    """Saves the drafts of one turn when they have changed, never more often than EVERY."""

    def __init__(self, state: TurnState, turns: Turns) -> None:
        self._state = state
        self._turns = turns
        self._timer: asyncio.TimerHandle | None = None
        self._marks: dict[str, Mark] = {}  # by call: how much was saved
        self._index = -1  # the next place on screen, as it was saved
        self._saving: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """An answer may have begun: look at the drafts until there are none."""
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
        marks = {key: Mark.of(draft) for key, draft in self._state.drafts.items()}
        # One at a time: if this one fails, a later one that has only what is new is of no use.
        is_free = self._saving is None or self._saving.done()
        if marks and is_free and (marks, self._state.index) != (self._marks, self._index):
            self._saving = asyncio.create_task(self._reported(self._new()))
            self._marks, self._index = marks, self._state.index
        self.watch()

    def _new(self) -> bytes:
        """What is new since the last time."""
        drafts = self._state.drafts
        new = Drafts(
            index=self._state.index,
            answers=[draft.since(self._marks.get(key)) for key, draft in drafts.items()],
            open=[draft.message_id for draft in drafts.values()],
        )
        return msgspec.json.encode(new)

    async def _reported(self, piece: bytes) -> None:
        """A draft that cannot be saved is no reason to stop answering."""
        try:
            await self._turns.add_draft(self._state.turn, piece)
        except TurnOver:
            if not self._state.is_over:
                _log.warning("a draft was not saved: the turn is in other hands")
        except Exception:
            self._marks = {}  # the next one has all of it
            _log.exception("a draft could not be saved")
