"""Starts turns, goes on with those that waited or were left, and ends them when the server ends.

Their events go to the bus. Signals from other processes come from the bus.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from turnlog.errors import AlreadyAsked, Busy, Closing, ContentErased, TurnlogError
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.ids import new_id
from turnlog.pipeline import turn as pipeline
from turnlog.pipeline.ending import ShuttingDown, Withdrawn
from turnlog.pipeline.parts import PartsFor
from turnlog.ports import (
    Bus,
    Decided,
    InLine,
    Question,
    Rate,
    Session,
    Signal,
    StartedTurn,
    Stop,
    Store,
    Turn,
    Waiting,
)
from turnlog.telemetry.logs import belonging_to
from turnlog.telemetry.metrics import Metrics
from turnlog.turns.follow_ups import FollowUp
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.live_turns import LiveTurns
from turnlog.turns.questions.limits import UserLimits
from turnlog.turns.questions.repeats import started_before, waits_already
from turnlog.turns.recovery import draft_events, goes_on, recover, unkept
from turnlog.turns.waiting.line import WaitingLines
from turnlog.turns.waiting.resting import Resting
from turnlog.turns.waiting.stopping import Stopping
from turnlog.turns.waiting.telling import Telling
from turnlog.turns.waiting.wakes import Wakes

_log = logging.getLogger(__name__)
WRITTEN_WITHIN = 5.0  # seconds, when the grace period is over
SOON = 0.02  # seconds, until a turn that is being written down runs


class RunningTurns:
    """The turns of all sessions, as far as this process works on them."""

    def __init__(
        self,
        store: Store,
        parts_for: PartsFor,
        bus: Bus,
        limits: UserLimits,
        longest: float,
        rate: Rate,
        metrics: Metrics,
        follow_ups: Sequence[FollowUp],
        window_bytes: int,
    ) -> None:
        """`longest`: how many seconds a turn may take. `window_bytes`: see `Windows`."""
        self._store = store
        self._bus = bus
        self._limits = limits
        self._rate = rate
        self._live = LiveTurns(
            parts_for, bus, limits, longest, metrics, follow_ups, window_bytes, self.heal
        )
        self.all_at_rest, self.asked = self._live.all_at_rest, self._live.asked
        self._claiming = asyncio.Lock()  # held until a claimed turn is in `_live`
        self._wakes = Wakes()
        self._lines = WaitingLines(store, self._wakes, self._begin_waiting, self.heal)
        self.stop = Stopping(store, bus, self._wakes, self._live.of, self.withdraw, self.heal).stop
        resting = Resting(store, self._wakes, self._live)
        self.is_at_rest, self._gives_way = resting.is_at_rest, resting.gives_way
        self.telling = Telling(bus, self._wakes, self._live)
        self._leaving = False
        self._starting = 0  # turns that are being written down, and run as soon as they are

    def live(self, turn_id: str) -> LiveTurn | None:
        """The turn, while it runs here."""
        return self._live.get(turn_id)

    async def rest(self, turn_id: str) -> None:
        """Wait until nobody works on the turn here."""
        if live := self._live.get(turn_id):
            await live.over.wait()

    def hear(self, session_id: str, signal: Signal) -> None:
        """A signal from the bus, of this process or of another one."""
        match signal:
            case Stop(turn_id) if live := self._live.get(turn_id):
                live.stop()
            case "stop":
                for live in self._live.of(session_id):
                    live.stop()
            case "wake":
                self._wakes.wake(session_id)
            case Decided():
                self.telling.hear(session_id, signal)

    # a question

    async def accept(
        self, user_id: str, session_id: str, question: Question
    ) -> StartedTurn | InLine:
        """The turn that answers, or will; the same one for the same request.

        If a dead process left the session busy, it is healed first. If the session waits for a
        person, or is about to, the new question withdraws the approval. If another turn runs, the
        question is refused with Busy or waits in line, as its `on_busy` says.
        """
        self.refuse_closing()
        try:
            return await self._start(user_id, session_id, question)
        except Busy as busy:
            if not busy.waiting:
                await self.heal(session_id)
            if busy.waiting or await self._gives_way(user_id, session_id, question):
                await self.withdraw(user_id, session_id, Withdrawn())
        try:
            earlier = await waits_already(self._store, session_id, question)
            if question.on_busy == "enqueue" or earlier is not None:
                return await self._lines.join(user_id, session_id, question)
        except AlreadyAsked as error:
            session = await self._store.get_session(user_id, session_id)
            return await self._asked_before(session, question, error)
        self.refuse_closing()
        return await self._start(user_id, session_id, question)

    async def begun(self, accepted: StartedTurn | InLine) -> StartedTurn:
        """The turn, when it has begun."""
        return await self._lines.begun(accepted) if isinstance(accepted, InLine) else accepted

    async def _begin_waiting(
        self, first: Waiting, because: TurnlogError | None = None
    ) -> StartedTurn:
        """Begin the turn of a question in line, and tell those who wait behind it.

        `because`: it cannot be answered, and ends with that. Raises Closing where this process is
        about to end: the turn would be cut off, and another process can answer it whole.
        """
        self.refuse_closing()
        place = (first.user_id, first.session_id)
        turn = await self._start(*place, first.question, first.turn_id, because)
        self._bus.signal(first.session_id, "wake")
        return turn

    async def _start(
        self,
        user_id: str,
        session_id: str,
        question: Question,
        turn_id: str | None = None,
        because: TurnlogError | None = None,
    ) -> StartedTurn:
        self._starting += 1
        try:
            session = await self._store.get_session(user_id, session_id)
            live = LiveTurn(turn_id or new_id(), session.id, user_id)
            if because is not None:
                live.stop(because)
            if live.turn_id in self._live:  # a question in line that begins at this moment
                raise Busy(live.turn_id)
            watch, parts = self._live.prepared(live, session, question.roles)
            set_off = partial(self._live.set_off, live, watch, question, parts)
            with_files = bool(question.file_ids)
            self._limits.start(user_id, with_files=with_files)
            self._live.add(live)
            try:
                state = await pipeline.begin(question, live.turn_id, parts, set_off)
            except BaseException as error:
                if not live.begun.is_set():  # else it goes on without whoever asked
                    self._limits.take_back(user_id, with_files=with_files)
                    self._live.forget(live)
                if isinstance(error, AlreadyAsked):
                    return await self._asked_before(session, question, error)
                raise
        finally:
            self._starting -= 1
        return StartedTurn.of(state.turn)

    async def _asked_before(
        self, session: Session, question: Question, earlier: AlreadyAsked
    ) -> StartedTurn:
        """The turn that an earlier request with the same id started."""
        turn = await started_before(self._store, session, question, earlier)
        if earlier.state == "running" and earlier.turn_id not in self._live:
            await self.heal(session.id)  # its process may have died
        return turn

    # a turn that is claimed

    async def claim(self, user_id: str, session_id: str, turn_id: str | None = None) -> Turn | None:
        """Claim the turn that waits in the session, or only this one. The caller must `go_on` with
        it.
        """
        async with self._claiming:
            if turn := await self._store.claim_waiting(user_id, session_id, turn_id):
                self._live.add(LiveTurn.of(turn))
            return turn

    async def go_on(self, turn: Turn, first: Event) -> None:
        """Go on with a turn that this process has claimed; `first` is what happened."""
        live = self._live.get(turn.id) or self._live.add(LiveTurn.of(turn))
        self._limits.resume(turn.user_id)
        try:
            session = await self._store.get_session(turn.user_id, turn.session_id)
            question, state = await pipeline.resume(turn, self._store)
            watch, parts = self._live.prepared(live, session, question.roles)
            parts.member(session.agent_id)  # or nothing is kept: nobody would go on with it
            drafts = unkept(turn, state)  # of agents that were writing when the process died
            state.index = max(state.index, drafts.index)
            await pipeline.deliver([*draft_events(drafts), state.from_outside(first)], state, parts)
            self._live.set_off(live, watch, question, parts, state)
        except BaseException:  # also where its agent is not here any more
            self._live.rest(live)
            raise

    async def withdraw(
        self,
        user_id: str,
        session_id: str,
        because: asyncio.CancelledError | None = None,
        turn_id: str | None = None,
    ) -> bool:
        """End the turn that waits, or only this one, and with it the questions that it waits for;
        without a reason, because the user wants it.
        """
        if (turn := await self.claim(user_id, session_id, turn_id)) is None:
            return False
        live = self._live[turn.id]
        self._limits.resume(user_id)
        try:
            session = await self._store.get_session(user_id, session_id)
            question, state = await pipeline.resume(turn, self._store)
            _, parts = self._live.prepared(live, session, question.roles)
            parts = replace(parts, over=lambda state: None)  # it did not run
            await pipeline.end(state, because or asyncio.CancelledError(), parts)
        except ContentErased:
            await self.give_up(turn)
        finally:
            self._live.rest(live)
        return True

    async def give_up(self, turn: Turn) -> None:
        """End a turn that this process has claimed and cannot go on with."""
        try:
            show = partial(self._bus.publish, turn.session_id)
            await recover(turn, self._store, show, self._rate)
        except Exception:
            _log.exception("turn %s could not be ended", turn.id)
        self._bus.signal(turn.session_id, "wake")

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
        except ContentErased:
            _log.warning("turn %s cannot go on: a part of it was erased", turn.id)
        except Exception:
            _log.exception("turn %s cannot go on", turn.id)
        await self.give_up(turn)

    # the life of this process

    async def open(self) -> None:
        """From now on questions begin here. What others left is taken up first."""
        self._leaving = False
        self._lines.open()
        await self.look_around()

    def refuse_closing(self) -> None:
        """Raises Closing where this process is about to end: nothing new begins here."""
        if self._leaving:
            raise Closing

    async def look_around(self) -> None:
        """Take up turns and questions in line that nobody works on, unless this process is about
        to end.
        """
        if not self._leaving:
            await self.heal()
            await self._lines.serve()

    def leave(self) -> None:
        """From now on nothing new begins here, and nothing is taken up."""
        self._leaving = True
        self._lines.leave()

    async def end(self, grace: float) -> None:
        """Turns get the grace period, also those that begin just now; then they are ended. What is
        being written is ended in the log, unless the store takes too long.
        """
        self.leave()
        tasks = self._live.tasks
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._starting or self._live or tasks:
                    await (asyncio.wait(tasks) if tasks else asyncio.sleep(SOON))
        clock = asyncio.get_running_loop().time
        late = clock() + WRITTEN_WITHIN
        while tasks or (self._starting and clock() < late):  # also what a late decision set off
            for live in (*self._live.values(), *tasks.values()):
                live.stop(ShuttingDown())
            await (asyncio.wait(tasks) if tasks else asyncio.sleep(SOON))
