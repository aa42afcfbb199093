"""Stopping what runs or waits in a session, in whichever process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from turnlog.errors import Busy
from turnlog.events.kinds import Complete
from turnlog.pipeline.ending import completed_again
from turnlog.ports import OPEN, Bus, Store, Turn
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.waiting.wakes import SOON, Wakes

WITHIN = 10.0  # seconds that another process has
Here = Callable[[str], Sequence[LiveTurn]]  # what this process works on in a session
Withdraw = Callable[[str, str], Awaitable[bool]]  # ends what waits, of this user and session
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

    async def stop(self, user_id: str, session_id: str) -> bool:
        """Whether a turn was open, and ended because of this.

        Returns when it is over in the store. Raises Busy where another process does not stop
        its turn in time.
        """
        wanted = await self._open_turn(user_id, session_id)
        await self._tell(user_id, session_id)
        if wanted is None:
            return False
        deadline = asyncio.get_running_loop().time() + WITHIN
        with self._wakes.of(session_id) as wake:
            while (turn := await self._open_turn(user_id, session_id)) and turn.id == wanted.id:
                if asyncio.get_running_loop().time() > deadline:
                    raise Busy(turn.id)
                wake.clear()
                await self._heal(session_id)  # its process may have died
                if not await self._tell(user_id, session_id):
                    await wake.within(SOON)
        return await self._was_stopped(wanted)

    async def _tell(self, user_id: str, session_id: str) -> bool:
        """Tell everybody to stop the turn. Says whether this process could."""
        mine = self._here(session_id)
        self._bus.signal(session_id, "stop")
        for live in mine:  # also what this process still believes in, and has lost
            live.stop()
            await live.over.wait()
        return await self._withdraw(user_id, session_id) or bool(mine)

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
