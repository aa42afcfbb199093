"""The turns that this process works on: started, found again, healed, and ended with it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakValueDictionary

from turnlog.errors import AlreadyAsked, Busy, Reused
from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.observing.logs import belonging_to
from turnlog.observing.metrics import metrics_of
from turnlog.observing.spans import installed_tracer
from turnlog.observing.turn_watch import TurnWatch
from turnlog.pipeline import turn as pipeline
from turnlog.pipeline.limits import UserLimits
from turnlog.pipeline.live_turn import LiveTurn
from turnlog.pipeline.recovery import recover
from turnlog.pipeline.turn_state import new_id
from turnlog.ports import Question, Session, Show, StartedTurn, Store, Turn

_log = logging.getLogger(__name__)
PartsFor = Callable[[Session, Show], pipeline.Parts]


class RunningTurns:
    """Starts turns and keeps them in sight until they are over."""

    def __init__(
        self, store: Store, parts_for: PartsFor, limits: UserLimits, longest: float
    ) -> None:
        """`longest`: how many seconds a turn may take."""
        self._store = store
        self._parts_for = parts_for
        self._limits = limits
        self._longest = longest
        self._lines: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._live: dict[str, LiveTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._healing = asyncio.Lock()

    async def start(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        """The turn that answers; the same one for the same request.

        A session that a dead process left busy is healed on the spot. One that is busy for good
        reason is told so, or waited for in line, as the question says.
        """
        try:
            return await self._start(user_id, session_id, question)
        except Busy:
            await self.heal(session_id)
        if question.on_busy == "enqueue":
            return await self._start_in_line(user_id, session_id, question)
        return await self._start(user_id, session_id, question)

    async def _start_in_line(
        self, user_id: str, session_id: str, question: Question
    ) -> StartedTurn:
        """After all that asked before, each when the one before it is over."""
        line = self._lines.setdefault(session_id, asyncio.Lock())
        async with line:
            while True:
                try:
                    return await self._start(user_id, session_id, question)
                except Busy as busy:
                    if busy.turn_id not in self._live:
                        raise  # another process works on it, and would not tell us when it ends
                    await self._live[busy.turn_id].over.wait()

    async def heal(self, session_id: str | None = None) -> None:
        """End the turns that nobody works on, of one session or of all."""
        async with self._healing:
            for turn in await self._store.claim_abandoned(session_id, working_on=self._live):
                with belonging_to(turn.session_id, turn.id):
                    await self._heal(turn)

    async def _heal(self, turn: Turn) -> None:
        _log.warning("turn %s was left unfinished; ending it", turn.id)
        try:
            await recover(turn, self._store)
        except Exception:
            _log.exception("turn %s could not be ended", turn.id)

    async def end(self, grace: float) -> None:
        """Running turns get the grace period, then are ended with what they have."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=grace)
        for live in self._live.values():
            live.stop(pipeline.ShuttingDown())
        if late:
            await asyncio.wait(late)

    async def stop(self, user_id: str, session_id: str) -> bool:
        """Stop what runs in the session. Says whether anything did."""
        await self._store.get_session(user_id, session_id)
        mine = [live for live in self._live.values() if live.session_id == session_id]
        for live in mine:
            live.stop()
            await live.over.wait()
        return bool(mine)

    async def _start(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        session = await self._store.get_session(user_id, session_id)
        live = LiveTurn(new_id(), session.id)
        watch = TurnWatch(
            session.id, live.turn_id, metrics_of(self._store), live.show, installed_tracer()
        )
        parts = self._parts_for(session, watch.show)
        self._limits.start(user_id)
        self._live[live.turn_id] = live
        try:
            state = await pipeline.begin(question, live.turn_id, parts)
        except BaseException as error:
            self._forget(live, user_id)
            live.finish()  # somebody may be waiting for it to stop
            if isinstance(error, AlreadyAsked):
                return await self._found(session, question, error)
            raise
        work = pipeline.work(question, state, parts)
        end = watch.around(partial(pipeline.end, state, parts=parts))
        with watch.started(parts.agent.ref, parts.agent.model or parts.limits.model):
            task = asyncio.create_task(live.run(work, end, self._longest))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(live, user_id))
        return live

    def _forget(self, live: LiveTurn, user_id: str) -> None:
        del self._live[live.turn_id]
        self._limits.end(user_id)

    async def _found(
        self, session: Session, question: Question, asked: AlreadyAsked
    ) -> StartedTurn:
        """The turn that an earlier request with the same id started."""
        log = await self._store.read(session.user_id, session.id, after=asked.first_seq - 1)
        kept = [at for at in log if at.turn_id == asked.turn_id and not at.placed.internal]
        first = kept[0].event
        if isinstance(first, k.UserMessageSent) and first.content != question.message:
            raise Reused("This requestId was used for another message. Take a new one.")
        if asked.turn_id in self._live:
            return self._live[asked.turn_id]
        if asked.running:
            raise Busy(asked.turn_id)
        return KeptTurn(turn_id=asked.turn_id, session_id=session.id, kept=kept)


@dataclass(kw_only=True)
class KeptTurn:
    """A turn that is over, read from the log; `complete` is said again."""

    turn_id: str
    session_id: str
    kept: list[Stamped]

    async def events(self) -> AsyncGenerator[Sequence[Stamped], None]:
        ended = isinstance(self.kept[-1].event, k.Error)
        yield self.kept if ended else [*self.kept, pipeline.completed_again(self.kept)]
