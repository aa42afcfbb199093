"""Decisions on turns that another process works on.

Only the process that works on a turn writes its events, because it numbers them. So a process that
is given a decision signals it to the others, looks in the log, and signals it again if it is not
there: signals may get lost.
"""

import asyncio
import logging
from collections.abc import Mapping

from turnlog.errors import AlreadyDecided
from turnlog.events.kinds import ApprovalResolved
from turnlog.ports import Approval, Bus, Decided
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.waiting.wakes import SOON, Wakes

_log = logging.getLogger(__name__)


class Telling:
    """Tells others of decisions, and takes those that others tell."""

    def __init__(self, bus: Bus, wakes: Wakes, live: Mapping[str, LiveTurn]) -> None:
        """`live`: what this process works on."""
        self._bus = bus
        self._wakes = wakes
        self._live = live
        self._taking: set[asyncio.Task[None]] = set()

    async def tell(self, approval: Approval, event: ApprovalResolved) -> None:
        """Returns when somebody may have taken it."""
        with self._wakes.of(approval.session_id) as wake:
            self._bus.signal(approval.session_id, Decided(approval.turn_id, event))
            await wake.within(SOON)

    def hear(self, session_id: str, decided: Decided) -> None:
        """Take it, once, if this process works on its turn."""
        live, event = self._live.get(decided.turn_id), decided.event
        if live is not None and event.told_as not in live.told:
            live.told.add(event.told_as)
            task = asyncio.create_task(self._take(session_id, live, event))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)

    async def _take(self, session_id: str, live: LiveTurn, event: ApprovalResolved) -> None:
        try:
            await live.takes(event)
        except AlreadyDecided:
            pass  # by another answer, or by this one: the process that told it looks in the log
        except Exception:
            live.told.discard(event.told_as)
            _log.exception("a decision of another node could not be kept")
        self._bus.signal(session_id, "wake")
