"""The turns that this process works on: started, gone on with, healed, and ended with it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from turnlog.errors import (
    AlreadyAsked,
    BadInput,
    Busy,
    Reused,
    ToolError,
)
from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.pipeline import turn as pipeline
from turnlog.pipeline.turn_state import TurnState, new_id
from turnlog.ports import (
    Approval,
    Question,
    Rate,
    Said,
    Session,
    Show,
    Standing,
    StartedTurn,
    Store,
    Turn,
    no_price,
)
from turnlog.telemetry.logs import belonging_to
from turnlog.telemetry.metrics import metrics_of
from turnlog.telemetry.spans import installed_tracer
from turnlog.telemetry.turn_watch import TurnWatch
from turnlog.turns.limits import UserLimits
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.recovery import goes_on, recover

_log = logging.getLogger(__name__)
PartsFor = Callable[[Session, Show], pipeline.Parts]
Publish = Callable[[str, Sequence[Stamped]], None]  # to those who watch a session


class OnEnd(Protocol):
    """Has something to do when a turn is over and its end was shown. Nobody waits for it."""

    def add(self, state: TurnState) -> None:
        """This turn is over. Returns at once."""
        ...

    async def done(self) -> None:
        """Wait until all of it is done."""
        ...


class RunningTurns:
    """Starts turns and keeps them in sight until they are over, or wait for a person."""

    def __init__(
        self,
        store: Store,
        parts_for: PartsFor,
        publish: Publish,
        limits: UserLimits,
        longest: float,
        rate: Rate = no_price,
        on_end: Sequence[OnEnd] = (),
    ) -> None:
        """`longest`: how many seconds a turn may take."""
        self._store = store
        self._parts_for = parts_for
        self._publish = publish
        self._limits = limits
        self._longest = longest
        self._rate = rate
        self._on_end = on_end
        self._lines: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._live: dict[str, LiveTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._claiming = asyncio.Lock()  # until what was claimed is among the live ones
        self._moved = asyncio.Condition()  # a turn that waited does so no longer
        self.rested = asyncio.Event()  # a turn is over, or waits

    def live(self, turn_id: str) -> LiveTurn | None:
        """The turn, while it runs here."""
        live = self._live.get(turn_id)
        return None if live is None or live.over.is_set() else live

    def is_live(self, session_id: str) -> bool:
        """Whether a turn of the session runs here."""
        return any(live.session_id == session_id for live in self._live.values())

    async def check(self, user_id: str, approval: Approval, args: dict[str, Any]) -> None:
        """Raises BadInput where a tool would not take these arguments."""
        session = await self._store.get_session(user_id, approval.session_id)
        parts = self._parts_for(session, lambda batch: None)
        turn = Turn(id=approval.turn_id, session_id=session.id, user_id=user_id)
        call = k.ToolUse(tool_use_id=approval.tool_use_id, tool_name=approval.tool_name, args=args)
        try:
            (await parts.tools_for(turn, Standing())).check(call)
        except ToolError as error:
            raise BadInput(str(error)) from None

    # a question

    async def start(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        """The turn that answers; the same one for the same request.

        A session that a dead process left busy is healed on the spot. One that waits for a
        person does so no longer: who asks something new has moved on. One that is busy for
        good reason is told so, or waited for in line, as the question says.
        """
        try:
            return await self._start(user_id, session_id, question)
        except Busy as busy:
            if busy.waiting:
                await self._withdraw(user_id, session_id)
            else:
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
                    await self._until_over(busy)

    async def _until_over(self, busy: Busy) -> None:
        """Until the turn is over, or somebody else has gone on with it."""
        if live := self._live.get(busy.turn_id):
            await live.over.wait()
        elif busy.waiting:
            async with self._moved:
                await self._moved.wait()
        else:
            raise busy  # another process works on it, and would not tell us when it ends

    async def _start(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        session = await self._store.get_session(user_id, session_id)
        live = LiveTurn(new_id(), session.id)
        watch, parts = self._prepared(live, session)
        self._limits.start(user_id)
        self._live[live.turn_id] = live
        try:
            state = await pipeline.begin(question, live.turn_id, parts)
        except BaseException as error:
            self._limits.take_back(user_id)
            self._let_go(live, user_id)
            if isinstance(error, AlreadyAsked):
                return await self._found(session, question, error)
            raise
        self._set_off(live, watch, question, state, parts)
        return live

    # a turn that goes on

    async def claim(self, user_id: str, session_id: str) -> Turn | None:
        """The turn that waits in the session, now in our hands: `go_on` with it."""
        async with self._claiming:
            turn = await self._store.claim_waiting(user_id, session_id)
            if turn is not None:
                self._live[turn.id] = LiveTurn(turn.id, session_id)
            return turn

    async def go_on(self, turn: Turn, first: Event) -> None:
        """Go on with a turn that this process has claimed; `first` is what happened."""
        live = self._live.setdefault(turn.id, LiveTurn(turn.id, turn.session_id))
        self._limits.resume(turn.user_id)
        try:
            session = await self._store.get_session(turn.user_id, turn.session_id)
            watch, parts = self._prepared(live, session)
            question, state = await pipeline.resume(turn, self._store)
            await pipeline.deliver(Said([first]), state, parts)
        except BaseException:
            self._let_go(live, turn.user_id)
            raise
        self._set_off(live, watch, question, state, parts)
        await self._tell_those_in_line()

    async def give_up(self, turn: Turn) -> None:
        """End a turn that this process has claimed and cannot go on with."""
        try:
            await recover(turn, self._store, partial(self._publish, turn.session_id), self._rate)
        except Exception:
            _log.exception("turn %s could not be ended", turn.id)
        await self._tell_those_in_line()

    async def heal(self, session_id: str | None = None) -> None:
        """Go on with the turns that nobody works on, or end them; of one session or of all."""
        async with self._claiming:
            for turn in await self._store.claim_abandoned(session_id, working_on=self._live):
                with belonging_to(turn.session_id, turn.id):
                    await self._heal(turn)

    async def _heal(self, turn: Turn) -> None:
        _log.warning("turn %s was left unfinished", turn.id)
        try:
            _, state = await pipeline.resume(turn, self._store)
            if goes_on(state):
                await self.go_on(turn, k.TurnResumed())
                return
        except Exception:
            _log.exception("turn %s cannot go on", turn.id)
        await self.give_up(turn)

    # the end

    async def end(self, grace: float) -> None:
        """Running turns get the grace period, then are ended with what they have."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        while self._tasks:  # also what a late question or decision has set off
            for live in self._live.values():
                live.stop(pipeline.ShuttingDown())
            await asyncio.wait(self._tasks)

    async def rest(self) -> None:
        """Wait until no turn runs here, and what follows on their ends is done."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        for follow_up in self._on_end:
            await follow_up.done()

    async def stop(self, user_id: str, session_id: str) -> bool:
        """Stop what runs or waits in the session. Says whether anything did."""
        await self._store.get_session(user_id, session_id)
        mine = [live for live in self._live.values() if live.session_id == session_id]
        for live in mine:
            live.stop()
            await live.over.wait()
        return await self._withdraw(user_id, session_id) or bool(mine)

    async def _withdraw(self, user_id: str, session_id: str) -> bool:
        """End the turn that waits, and with it the questions that it waits for."""
        turn = await self.claim(user_id, session_id)
        if turn is None:
            return False
        live = self._live[turn.id]
        self._limits.resume(user_id)
        try:
            session = await self._store.get_session(user_id, session_id)
            _, parts = self._prepared(live, session)
            _, state = await pipeline.resume(turn, self._store)
            await pipeline.end(state, asyncio.CancelledError(), parts)
        finally:
            self._let_go(live, user_id)
            await self._tell_those_in_line()
        return True

    # inside

    def _prepared(self, live: LiveTurn, session: Session) -> tuple[TurnWatch, pipeline.Parts]:
        metrics = metrics_of(self._store)
        watch = TurnWatch(session.id, live.turn_id, metrics, live.show, installed_tracer())
        return watch, self._parts_for(session, watch.show)

    def _set_off(
        self,
        live: LiveTurn,
        watch: TurnWatch,
        question: Question,
        state: TurnState,
        parts: pipeline.Parts,
    ) -> None:
        """Let the turn run by itself."""
        live.deliver = lambda event: pipeline.deliver(Said([event]), state, parts)
        work = pipeline.work(question, state, parts)
        end = watch.around(partial(self._end, state, parts))
        with watch.started(parts.agent.ref, parts.agent.model or parts.limits.model):
            task = asyncio.create_task(live.run(work, end, self._longest))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(live, state.turn.user_id))

    async def _end(
        self, state: TurnState, parts: pipeline.Parts, failure: BaseException | None
    ) -> None:
        await pipeline.end(state, failure, parts)
        if not state.paused:
            for follow_up in self._on_end:
                follow_up.add(state)

    def _let_go(self, live: LiveTurn, user_id: str) -> None:
        """It does not run by itself. Somebody may be waiting for it to be over."""
        self._forget(live, user_id)
        live.finish()

    def _forget(self, live: LiveTurn, user_id: str) -> None:
        if self._live.get(live.turn_id) is live:  # and not a later part of the same turn
            del self._live[live.turn_id]
        self._limits.end(user_id)
        self.rested.set()

    async def _tell_those_in_line(self) -> None:
        async with self._moved:
            self._moved.notify_all()

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
        if asked.state == "running":
            raise Busy(asked.turn_id)
        over = asked.state == "done"
        return KeptTurn(turn_id=asked.turn_id, session_id=session.id, kept=kept, over=over)


@dataclass(kw_only=True)
class KeptTurn:
    """A turn that nobody works on, read from the log; where it is over `complete` is said again."""

    turn_id: str
    session_id: str
    kept: list[Stamped]
    over: bool

    async def events(self) -> AsyncGenerator[Sequence[Stamped], None]:
        yield [*self.kept, pipeline.completed_again(self.kept)] if self.over else self.kept
