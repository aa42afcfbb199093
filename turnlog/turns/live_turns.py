"""All turns that this process works on: each is made ready, set off, run, and let go."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from turnlog.pipeline import turn as pipeline
from turnlog.pipeline.context.windows import Windows
from turnlog.pipeline.parts import Parts, PartsFor
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Bus, Question, Session
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.turn_watch import TurnWatch
from turnlog.turns.follow_ups import FollowUp
from turnlog.turns.live_turn import LiveTurn
from turnlog.turns.questions.limits import UserLimits

Heal = Callable[[str], Coroutine[Any, Any, None]]  # of this session


class LiveTurns(Mapping[str, LiveTurn]):
    """By their ids, from when one is added until nobody works on it here."""

    def __init__(
        self,
        parts_for: PartsFor,
        bus: Bus,
        limits: UserLimits,
        longest: float,
        metrics: Metrics,
        follow_ups: Sequence[FollowUp],
        window_bytes: int,
        heal: Heal,
    ) -> None:
        """`longest`: how many seconds a turn may take. `window_bytes`: see `Windows`."""
        self._parts_for = parts_for
        self._bus = bus
        self._limits = limits
        self._longest = longest
        self._metrics = metrics
        self._follow_ups = follow_ups
        self._windows = Windows(window_bytes)
        self._heal = heal
        self._turns: dict[str, LiveTurn] = {}
        self.tasks: dict[asyncio.Task[None], LiveTurn] = {}
        self.asked = asyncio.Event()  # a turn waits: what it asks may expire

    def __getitem__(self, turn_id: str) -> LiveTurn:
        return self._turns[turn_id]

    def __contains__(self, turn_id: object) -> bool:
        return turn_id in self._turns

    def __iter__(self) -> Iterator[str]:
        return iter(self._turns)

    def __len__(self) -> int:
        return len(self._turns)

    def of(self, session_id: str) -> list[LiveTurn]:
        return [live for live in self._turns.values() if live.session_id == session_id]

    def add(self, live: LiveTurn) -> LiveTurn:
        """It takes the place of an earlier part of the same turn, which is about to be let go."""
        self._turns[live.turn_id] = live
        return live

    async def all_at_rest(self) -> None:
        """Wait until no turn runs here, and what follows on their ends is done."""
        while self.tasks:
            await asyncio.wait(self.tasks)
        for follow_up in self._follow_ups:
            await follow_up.done()

    # one turn

    def prepared(
        self, live: LiveTurn, session: Session, roles: Sequence[str]
    ) -> tuple[TurnWatch, Parts]:
        """What the turn is watched by, and what it works with."""
        show = partial(self._bus.publish, session.id)
        watch = TurnWatch(session.id, live.turn_id, self._metrics, show)
        parts = self._parts_for(session, watch.show, roles)
        over = partial(self._over, live, watch)
        return watch, replace(parts, note=watch.note, over=over, windows=self._windows)

    def set_off(
        self, live: LiveTurn, watch: TurnWatch, question: Question, parts: Parts, state: TurnState
    ) -> None:
        """Let the turn run by itself."""
        if live.over.is_set():  # it was let go: whoever asked was cancelled twice
            task = asyncio.create_task(self._take_up(live, state))
        else:
            agent = parts.agent
            context = watch.started(agent.ref, agent.model or parts.limits.model, agent.tool_names)
            task = asyncio.Task(self._run(live, watch, question, state, parts), context=context)
            live.begin(lambda event: pipeline.deliver([state.from_outside(event)], state, parts))
        self.tasks[task] = live
        task.add_done_callback(self.tasks.pop)

    async def _take_up(self, live: LiveTurn, state: TurnState) -> None:
        async with state.delivering:  # its question is shown first
            await self._heal(live.session_id)

    async def _run(
        self, live: LiveTurn, watch: TurnWatch, question: Question, state: TurnState, parts: Parts
    ) -> None:
        async def end(failure: BaseException | None) -> None:
            watch.stopped_by(failure)
            if not await pipeline.end(state, failure, parts) and state.suspended:
                self.asked.set()

        try:
            await live.run(partial(pipeline.work, question, state, parts), end, self._longest)
        finally:
            if not live.over.is_set():  # it waits, or this process has lost it
                watch.ended()
                self.rest(live)

    def _over(self, live: LiveTurn, watch: TurnWatch, state: TurnState) -> None:
        """The turn's end was just shown. It is counted in the same step of the loop."""
        for follow_up in self._follow_ups:
            follow_up.add(state)
        watch.ended()
        self.forget(live)
        self._bus.signal(live.session_id, "wake")

    def rest(self, live: LiveTurn) -> None:
        """Nobody works on the turn, and no end was shown. Whoever waits for that is told."""
        self.forget(live)
        self._bus.publish(live.session_id, [])
        self._bus.signal(live.session_id, "wake")

    def forget(self, live: LiveTurn) -> None:
        """Nobody works on the turn here any more."""
        if self._turns.get(live.turn_id) is live:  # and not a later part of the same turn
            del self._turns[live.turn_id]
        self._limits.end(live.user_id)
        live.end()
