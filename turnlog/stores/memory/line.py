"""Questions in line, in a dictionary."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from turnlog.errors import AlreadyAsked, Busy
from turnlog.ports import MOST_IN_LINE, OPEN, Turn, Waiting, too_many_in_line


class MemoryLine:
    """A Line without a disk."""

    def __init__(
        self, turns: Mapping[str, Turn], get_session: Callable[[str, str], Awaitable[Any]]
    ) -> None:
        self._turns = turns
        self._get_session = get_session
        self._waiting: dict[str, Waiting] = {}  # by turn, in their order

    def admit(self, turn: Turn) -> None:
        """Raises Busy where another is first. Who begins does not wait any more."""
        first = next(iter(self._of(turn.session_id)), None)
        open_turn = self._open(turn.session_id)
        if first is not None and first.turn_id != turn.id:
            raise Busy(open_turn.id if open_turn else first.turn_id)
        if open_turn is not None:
            raise Busy(open_turn.id, waiting=open_turn.state == "waiting")
        self._waiting.pop(turn.id, None)

    async def join(self, waiting: Waiting) -> Waiting:
        await self._get_session(waiting.user_id, waiting.session_id)
        request_id = waiting.question.request_id
        if request_id is not None:
            for turn in self._turns.values():
                if (turn.session_id, turn.request_id) == (waiting.session_id, request_id):
                    raise AlreadyAsked(turn.id, state=turn.state, first_seq=turn.first_seq)
            if there := await self.of_request(waiting.session_id, request_id):
                return there
        if len(self._of(waiting.session_id)) >= MOST_IN_LINE:
            raise too_many_in_line()
        self._waiting[waiting.turn_id] = waiting
        return waiting

    async def turn_ids(self, session_id: str) -> list[str]:
        return [each.turn_id for each in self._of(session_id)]

    async def get(self, turn_id: str) -> Waiting | None:
        return self._waiting.get(turn_id)

    async def of_request(self, session_id: str, request_id: str) -> Waiting | None:
        mine = (each for each in self._of(session_id) if each.question.request_id == request_id)
        return next(mine, None)

    async def sessions(self) -> list[str]:
        there = dict.fromkeys(each.session_id for each in self._waiting.values())
        return [session_id for session_id in there if self._open(session_id) is None]

    async def leave(self, turn_id: str) -> None:
        self._waiting.pop(turn_id, None)

    def _of(self, session_id: str) -> list[Waiting]:
        return [each for each in self._waiting.values() if each.session_id == session_id]

    def _open(self, session_id: str) -> Turn | None:
        mine = (turn for turn in self._turns.values() if turn.session_id == session_id)
        return next((turn for turn in mine if turn.state in OPEN), None)
