"""Questions that wait in line for the turn of their session to be over.

A question is in the store before anybody waits for its turn. Whoever sent it begins it when it
is first in line; if they have gone, or their process has died, any process does so.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from turnlog.errors import (
    AlreadyAsked,
    Archived,
    Busy,
    Closing,
    NotFound,
    NotStored,
    TooMany,
    TurnlogError,
)
from turnlog.events.clock import now
from turnlog.events.ids import new_id
from turnlog.ports import Question, StartedTurn, Store, Waiting
from turnlog.ports.backend import OnLine
from turnlog.turns.waiting.wakes import Wakes

_log = logging.getLogger(__name__)
LOOKS_EVERY = 5.0  # seconds: signals may get lost, and so may processes
LATER = (Busy, TooMany, Archived)  # what passes: the question stays in line
GONE = "This message waited in line and cannot be asked any more. Send it again."
Begin = Callable[[Waiting], Awaitable[StartedTurn]]
Heal = Callable[[str], Awaitable[None]]


class WaitingLines:
    """The lines of all sessions, as this process serves them."""

    def __init__(self, store: Store, wakes: Wakes, begin: Begin, heal: Heal) -> None:
        self._store = store
        self._wakes = wakes
        self._begin = begin
        self._heal = heal
        self._leaving = asyncio.Event()

    async def start(
        self, user_id: str, session_id: str, question: Question, on_line: OnLine
    ) -> StartedTurn:
        """The turn, when all earlier questions of the session are answered.

        Raises Closing where this process ends before that. The question stays in line.
        """
        waiting = await self._store.line.join(
            Waiting(
                turn_id=new_id(),
                session_id=session_id,
                user_id=user_id,
                question=question,
                created_at=now(),
            )
        )
        on_line()
        try:
            return await self._first(waiting)
        except NotFound:
            raise
        except Exception as error:
            if self._leaving.is_set():  # the store may have been closed in between
                raise Closing from error
            raise

    async def serve(self) -> None:
        """Begin what is first in line in each session, if it can begin.

        One that fails is tried again the next time, and holds up no other session.
        """
        if self._leaving.is_set():
            return
        for session_id in await self._store.line.sessions():
            try:
                await self._try_first(session_id)
            except NotStored:  # nor would the others be
                raise
            except Exception:
                _log.exception("a message in line of %s could not be asked", session_id)

    def open(self) -> None:
        self._leaving.clear()

    def leave(self) -> None:
        """This process begins no more of them. Others do."""
        self._leaving.set()
        self._wakes.wake_all()

    async def _first(self, waiting: Waiting) -> StartedTurn:
        """Its turn, when it is first in line and can begin."""
        with self._wakes.of(waiting.session_id) as wake:
            while not self._leaving.is_set():
                wake.clear()
                if turn := await self._begun(waiting):
                    return turn
                if not await wake.within(LOOKS_EVERY):
                    await self._heal(waiting.session_id)  # the process that was busy may have died
        raise Closing

    async def _begun(self, waiting: Waiting) -> StartedTurn | None:
        """Its turn, if that has begun, or can begin now. Raises NotFound where it never will."""
        ids = await self._store.line.turn_ids(waiting.session_id)
        if ids[:1] == [waiting.turn_id]:
            if turn := await self._try(waiting):
                return turn
            ids = await self._store.line.turn_ids(waiting.session_id)
        if waiting.turn_id in ids:
            return None
        place = (waiting.user_id, waiting.session_id, waiting.turn_id)
        begun = await self._store.find_turn(*place)
        if begun is None:
            raise NotFound(GONE)
        return StartedTurn.of(begun)

    async def _try_first(self, session_id: str) -> None:
        ids = await self._store.line.turn_ids(session_id)
        if ids and (waiting := await self._store.line.get(ids[0])):
            await self._try(waiting)

    async def _try(self, waiting: Waiting) -> StartedTurn | None:
        """Begin it. One that can never begin leaves the line: those behind it need not wait."""
        try:
            return await self._begin(waiting)
        except LATER:
            return None
        except AlreadyAsked:  # another process was quicker
            return None
        except TurnlogError as error:
            if error.retryable:
                raise
            _log.warning("a message in line cannot be asked: %s", error)
            await self._store.line.leave(waiting.turn_id)
            return None
