"""Questions that wait in line for the turn of their session to be over.

A question is in the store before anybody waits for its turn. The process that took it begins it
when it is first in line, also when whoever sent it has gone; if it has died, any process does so.
One that cannot be asked any more is kept all the same, and its turn ends with the reason.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from turnlog.errors import (
    AgentGone,
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
from turnlog.ports import InLine, Question, StartedTurn, Store, Waiting
from turnlog.turns.waiting.wakes import Wakes

_log = logging.getLogger(__name__)
LOOKS_EVERY = 5.0  # seconds: signals may get lost, and so may processes
LATER = (Busy, TooMany, Archived, Closing)  # what passes: the question stays in line
GONE = "This message waited in line and cannot be asked any more. Send it again."
Begin = Callable[[Waiting, TurnlogError | None], Awaitable[StartedTurn]]  # or end it, with this
Heal = Callable[[str], Awaitable[None]]


class WaitingLines:
    """The lines of all sessions, as this process serves them."""

    def __init__(self, store: Store, wakes: Wakes, begin: Begin, heal: Heal) -> None:
        self._store = store
        self._wakes = wakes
        self._begin = begin
        self._heal = heal
        self._leaving = asyncio.Event()
        self._beginning: dict[str, asyncio.Task[StartedTurn]] = {}  # by turn
        self._without_agent: set[str] = set()  # sessions, as they were found the last time

    async def join(self, user_id: str, session_id: str, question: Question) -> InLine:
        """Its place in the line, which is kept. It begins when all earlier ones are answered.

        Raises Closing where this process ends before it can say so.
        """
        new = Waiting(
            turn_id=new_id(),
            session_id=session_id,
            user_id=user_id,
            question=question,
            created_at=now(),
        )
        with self._until_closed():
            waiting = await self._store.line.join(new)
            ids = await self._store.line.turn_ids(session_id)
        self._begins(waiting)
        ahead = ids.index(waiting.turn_id) if waiting.turn_id in ids else 0  # it has just begun
        return InLine(waiting=waiting, place=ahead + 1)

    async def begun(self, in_line: InLine) -> StartedTurn:
        """The turn, when it has begun.

        Raises Closing where this process ends before that. The question stays in line.
        """
        with self._until_closed():
            return await asyncio.shield(self._begins(in_line.waiting))

    async def serve(self) -> None:
        """Begin what is first in line in each session, if it can begin.

        One that fails is tried again the next time, and holds up no other session. Where this
        server does not have the agent, another one may, or it itself after a restart.
        """
        without_agent: set[str] = set()
        for session_id in await self._store.line.sessions():
            if self._leaving.is_set():
                return
            try:
                await self._try_first(session_id)
            except NotStored:  # nor would the others be
                raise
            except AgentGone as error:
                without_agent.add(session_id)
                if session_id not in self._without_agent:  # it is told once
                    _log.warning("a message in line of %s waits: %s", session_id, error)
            except Exception:
                _log.exception("a message in line of %s could not be asked", session_id)
        self._without_agent = without_agent

    def open(self) -> None:
        self._leaving.clear()

    def leave(self) -> None:
        """This process begins no more of them. Others do."""
        self._leaving.set()
        self._wakes.wake_all()

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        """What fails while this process ends may fail because the store was closed in between."""
        try:
            yield
        except NotFound:
            raise
        except Exception as error:
            if self._leaving.is_set():
                raise Closing from error
            raise

    def _begins(self, waiting: Waiting) -> asyncio.Task[StartedTurn]:
        """What begins it here, whoever waits for that. If it fails, the next healing begins it."""
        if (task := self._beginning.get(waiting.turn_id)) is None:
            task = asyncio.create_task(self._first(waiting))
            self._beginning[waiting.turn_id] = task
            task.add_done_callback(partial(self._forget, waiting))
        return task

    def _forget(self, waiting: Waiting, task: asyncio.Task[StartedTurn]) -> None:
        del self._beginning[waiting.turn_id]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TurnlogError | None) or self._leaving.is_set():
            return  # whoever waits for it is told
        _log.error("a message in line of %s failed", waiting.session_id, exc_info=error)

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

    async def _try(
        self, waiting: Waiting, because: TurnlogError | None = None
    ) -> StartedTurn | None:
        """Begin it. One that can never be asked becomes a turn that ends with the reason, because
        whoever sent it has gone with the id of the turn. Raises AgentGone where it stays in line.
        """
        try:
            return await self._begin(waiting, because)
        except LATER:
            return None
        except AlreadyAsked:  # another process was quicker
            return None
        except TurnlogError as error:
            if error.retryable or isinstance(error, AgentGone):
                raise
            _log.warning("a message in line cannot be asked: %s", error)
            if because is None:
                bare = replace(waiting.question, file_ids=[], thinking_budget=None)
                return await self._try(replace(waiting, question=bare), error)
            await self._store.line.leave(waiting.turn_id)  # it cannot even be kept
            return None
