"""Turns at rest: nobody works on them. And those that have asked a person, and do not wait yet.

A question is shown as soon as it is kept, because other tools may run for minutes beside it.
The turn waits when its engine has come to the end of its run, which takes LangGraph some ten
milliseconds. Whoever has seen the question and comes in between waits for that moment.
"""

import asyncio
from collections.abc import Mapping

from turnlog.pipeline.turn_state import resumed
from turnlog.ports import Question, StartedTurn, Store, Turn
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.waiting.wakes import SOON, Wakes

WITHIN = 2.0  # seconds: another agent of the team may still speak


class Resting:
    """Knows which turns rest, in whichever process."""

    def __init__(self, store: Store, wakes: Wakes, live: Mapping[str, LiveTurn]) -> None:
        """`live`: what this process works on."""
        self._store = store
        self._wakes = wakes
        self._live = live

    async def is_at_rest(self, user_id: str, turn: StartedTurn) -> bool:
        """Whether the turn is over, or waits: nobody works on it, here or elsewhere."""
        if turn.turn_id in self._live:
            return False
        newest = await self._store.newest_turn(user_id, turn.session_id)
        return newest is None or newest.id != turn.turn_id or newest.state != "running"

    async def gives_way(self, user_id: str, session_id: str, question: Question) -> bool:
        """Whether the session's turn can be withdrawn for the question, now or within moments.

        It is not for one that may wait in line, nor past others there: they were sent before
        anybody had seen what the turn asks.
        """
        if question.on_busy == "enqueue" or await self._store.line.turn_ids(session_id):
            return False
        return await self.comes_to_wait(user_id, session_id)

    async def comes_to_wait(self, user_id: str, session_id: str) -> bool:
        """Whether the session's turn waits for a person, now or within moments."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + WITHIN
        with self._wakes.of(session_id) as wake:
            while turn := await self._store.newest_turn(user_id, session_id):
                if turn.state != "running":
                    return turn.state == "waiting"
                if clock() > deadline or not await self._only_asks(turn):
                    return False
                await wake.within(SOON)
                wake.clear()
        return False

    async def _only_asks(self, turn: Turn) -> bool:
        """Whether all its open tools wait for a person. The tasks of agents end with those."""
        if not await self._store.list_approvals(turn.user_id, status="pending", limit=1):
            return False  # which is cheaper than to read its log
        log = await self._store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
        state = resumed(turn, [entry for entry in log if entry.turn_id == turn.id])
        tools = [tool_use_id for tool_use_id, call in state.open_calls.items() if not call.hidden]
        return bool(tools) and set(tools) == set(state.pending)
