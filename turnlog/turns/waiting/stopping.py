"""Stopping what runs or waits in a session, in whichever process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from turnlog.errors import Busy
from turnlog.events.kinds import Complete
from turnlog.pipeline.ending import completed_again
from turnlog.ports import OPEN, Bus, Stop, Store, Turn
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.waiting.wakes import SOON, Wakes

WITHIN = 10.0  # seconds that another process has
Here = Callable[[str], Sequence[LiveTurn]]  # what this process works on in a session
Withdraw = Callable[..., Awaitable[bool]]  # ends what waits, of this user and session
Heal = Callable[[str], Awaitable[None]]


class Stopping:
    """Tells everybody to stop a turn, and looks in the store whether that came true."""

    def __init__(
        self, store: Store, bus: Bus, wakes: Wakes, here: Here, withdraw: Withdraw, heal: Heal
    ) -> None:
        self._store = store
        self._bus = bus
        self._wakes = wakes
        self._here = here
        self._withdraw = withdraw
        self._heal = heal

    async def stop(self, user_id: str, session_id: str, turn_id: str | None = None) -> bool:
        """Whether a turn was open, and ended because of this. With `turn_id` only that one is
        stopped; else what was open when this was asked.

        Returns when it is over in the store. Raises Busy where another process does not stop
        its turn in time.
        """
        here = [live for live in self._here(session_id) if turn_id in (None, live.turn_id)]
        wanted = await self._open_turn(user_id, session_id)
        if wanted is None or turn_id not in (None, wanted.id):
            await _ended(here)  # what just begins, or what this process believes in and has lost
            return False
        await self._tell(wanted)
        deadline = asyncio.get_running_loop().time() + WITHIN
        with self._wakes.of(session_id) as wake:
            while (turn := await self._open_turn(user_id, session_id)) and turn.id == wanted.id:
                if asyncio.get_running_loop().time() > deadline:
                    raise Busy(turn.id)
                wake.clear()
                await self._heal(session_id)  # its process may have died
                if not await self._tell(wanted):
                    await wake.within(SOON)
        return await self._was_stopped(wanted)

    async def _tell(self, turn: Turn) -> bool:
        """Tell everybody to stop the turn, and no other. Says whether this process could."""
        mine = [live for live in self._here(turn.session_id) if live.turn_id == turn.id]
        self._bus.signal(turn.session_id, Stop(turn.id))
        await _ended(mine)
        withdrawn = await self._withdraw(turn.user_id, turn.session_id, turn_id=turn.id)
        return withdrawn or bool(mine)

    async def _open_turn(self, user_id: str, session_id: str) -> Turn | None:
        turn = await self._store.newest_turn(user_id, session_id)
        return turn if turn is not None and turn.state in OPEN else None

    async def _was_stopped(self, turn: Turn) -> bool:
        """It may have ended by itself, or failed, at the same moment."""
        log = await self._store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
        kept = [entry for entry in log if entry.turn_id == turn.id]
        ending = completed_again(kept).event
        now = await self._store.find_turn(turn.user_id, turn.session_id, turn.id)
        assert isinstance(ending, Complete) and now is not None
        return now.state == "done" and ending.reason == "cancelled"


async def _ended(turns: Sequence[LiveTurn]) -> None:
    for live in turns:
        live.stop()
        await live.over.wait()
