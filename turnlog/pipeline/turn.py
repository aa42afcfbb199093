"""One turn, all six stages on one page: read this first.

    question -> 1 context_building -> 2 execution -> 3 normalization -> 4 sequencing
             -> 5 store_and_emit, batch by batch; at the end 6 tool_finalization
    Chunks, which are not stored, go from 2 to live_chunks, which is 3 to 5 for them.

`begin` returns when the user's message is on disk. `work` may fail or be cancelled at any
moment; `end` comes after it in any case, and ends the turn with `complete` or `error`, unless
it waits for a person. `turns.live_turn` runs the two. `resume` rebuilds a turn from the log,
so that `work` can go on with it in any process.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

from msgspec.structs import replace

from turnlog.errors import AlreadyDecided, Archived, ContentErased, TurnOver
from turnlog.events import kinds as k
from turnlog.events.base import Attributed, Envelope
from turnlog.pipeline.admission import admitted_files, question_event
from turnlog.pipeline.citing import can_be_followed, followed
from turnlog.pipeline.context.desk import Desk
from turnlog.pipeline.context.moving import Summarizing
from turnlog.pipeline.context_building import build_context, prompt_of
from turnlog.pipeline.ending import (
    STOPS,
    complete,
    complete_with,
    error_of,
    left_open,
    show_unkept,
    unstored_end,
)
from turnlog.pipeline.execution import execute, named
from turnlog.pipeline.live_chunks import show_chunks
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.parts import Parts
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import emit, store_and_emit, to_the_end
from turnlog.pipeline.turn_state import TurnState, resumed
from turnlog.ports import (
    Agent,
    Ask,
    Batch,
    Question,
    Seat,
    Store,
    ToolBox,
    ToolStarted,
    Turn,
)
from turnlog.projections.titles import title_of

_log = logging.getLogger(__name__)


async def begin(
    question: Question, turn_id: str, parts: Parts, set_off: Callable[[TurnState], None]
) -> TurnState:
    """Keep the user's message. From here on it cannot be lost.

    `set_off` is called when it is on disk. It is shown two rounds of the loop later, when the turn
    has taken its first step, as have those that begin at the same time: showing it takes longer,
    and the models should be asked first.
    """
    files = await admitted_files(question, parts.limits, parts.session, parts.files)
    session = parts.session
    if session.archived:
        raise Archived
    turn = Turn(
        id=turn_id,
        session_id=session.id,
        user_id=session.user_id,
        request_id=question.request_id,
    )
    state = TurnState(turn, parts.agent.ref)
    state.file_ids = question.file_ids
    state.standing.brought = question.client_tools

    asked = Attributed(question_event(question, files), state.agent, internal=False, kept=True)
    placed = place([asked], state)
    turn = replace(turn, started_at=placed[0].time)  # one look at the clock: it may jump

    loop = asyncio.get_running_loop()
    shown = loop.create_future()

    def begun(turn: Turn) -> None:
        state.turn = turn
        set_off(state)
        loop.call_soon(loop.call_soon, show)  # behind the first steps of all that begin now

    def show() -> None:
        if not shown.done():
            shown.set_result(None)  # whoever asked goes on before those who watch
        state.delivering.release()
        _emit(state, parts, placed, state.turn.first_seq)
        _show_held_back(state)

    await state.delivering.acquire()  # nothing of the turn is shown before its question
    state.held_back = []
    title = "" if session.title else title_of(question.message)
    await to_the_end(parts.store.begin_turn(turn, placed, title), begun)
    await shown
    return state


async def resume(turn: Turn, store: Store) -> tuple[Question, TurnState]:
    """The turn where the log left it, and the question that it began with.

    Raises ContentErased: what stands in the place of an event is there to be shown.
    """
    log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
    events = [entry for entry in log if entry.turn_id == turn.id]
    if any(entry.erased for entry in events):
        raise ContentErased
    first = events[0].event
    assert isinstance(first, k.UserMessageSent)
    question = Question(
        message=first.content,
        file_ids=[file["id"] for file in first.files],
        enable_thinking=first.enable_thinking,
        thinking_budget=first.thinking_budget,
        sampling=first.sampling or None,
        request_id=turn.request_id,
        roles=first.roles or [],
    )
    state = resumed(turn, events)
    state.file_ids = question.file_ids
    state.standing.brought = first.client_tools
    state.standing.started |= await store.started_tools(turn)
    return question, state


async def work(question: Question, state: TurnState, parts: Parts) -> None:
    """Answer the question, until it is answered or a person must decide something."""
    while True:
        await _answer(question, state, parts)
        if not state.open_calls:  # so none is pending, and none is ready
            return
        async with state.delivering:
            if state.pending and not state.ready:
                await _suspend(state, parts.store)
                return
        if not state.ready:
            return


async def _answer(question: Question, state: TurnState, parts: Parts) -> None:
    """Stages 1 and 2, then stages 3 to 5 for each batch."""
    drafts = parts.drafts_for(state)
    pacer = parts.pacer_for(partial(show_chunks, state=state, show=parts.show))
    ask = Ask(
        speaker=state.agent.id,
        team=_Team(question, state, parts),
        max_calls=parts.limits.max_calls,
        open_calls=list(state.open_calls.values()),
        answers=dict(state.answers),
        may_be_shorter=state.last_message is None,
        guard=parts.guard_for(state.turn),
        standing=state.standing,
        paused=state.paused,
        user_id=state.turn.user_id,
        session_id=state.turn.session_id,
        straight=pacer.add,
    )
    try:
        async with aclosing(execute(ask, parts.engine)) as batches:
            async for batch in batches:
                if pacer.takes(batch):
                    pacer.add(batch)
                else:
                    pacer.flush()
                    await deliver([await named(batch, parts.claim_id)], state, parts)
                    drafts.watch()
    finally:
        pacer.flush()
        await drafts.close()


class _Team:
    """The agents that may speak in the turn."""

    def __init__(self, question: Question, state: TurnState, parts: Parts) -> None:
        self.agents = parts.team
        self._question = question
        self._state = state
        self._parts = parts

    async def seat(self, agent_id: str, *, shorter: bool = False) -> Seat:
        """Stage 1 for one agent."""
        parts, state, session = self._parts, self._state, self._parts.session
        if shorter or state.last_message is not None:  # the anchor may have moved
            session = await parts.store.get_session(session.user_id, session.id)
        agent = parts.member(agent_id)
        tools = await parts.tools_for(agent, state.turn, state.standing)
        if agent_id not in state.prefixes:  # once in a turn
            self._log_tools(agent, tools)
        system = await self._system(agent)
        seat, state.prefixes[agent_id] = await build_context(
            Desk(agent, parts.team, self._question, session, tools, parts.limits, system),
            parts.store,
            list(state.open_calls.values()),
            attachments=parts.files,
            summarizing=self._summarizing(),
            shorter=shorter,
            windows=parts.windows,
        )
        state.sources[agent_id] = seat.sources
        return seat

    def _log_tools(self, agent: Agent, tools: ToolBox) -> None:
        """What the agent may call, where the start of the turn did not say it."""
        names = [spec.name for spec in tools.specs]
        known = agent.tool_names if agent.id == self._parts.session.agent_id else None
        if names != known:
            facts = {"agent": agent.id, "tools": ",".join(names)}
            _log.info("agent has tools", extra={"facts": facts})

    def _summarizing(self) -> Summarizing | None:
        """Before the first answer of the turn: later on, what the model is told only grows."""
        if self._state.last_message is not None:
            return None
        guard = self._parts.guard_for(self._state.turn)
        return Summarizing(self._parts.summarizer, guard, self._state.summaries)

    async def _system(self, agent: Agent) -> str:
        """The agent's prompt, made once: within a turn, what the model is told only grows."""
        prompts = self._state.prompts
        if agent.id not in prompts:
            prompts[agent.id] = await prompt_of(agent, self._parts.session)
        return prompts[agent.id]


async def end(state: TurnState, failure: BaseException | None, parts: Parts) -> bool:
    """Close what is open and show how the turn ended. `failure` is what stopped `work`.

    Returns whether the turn is over in the store. A process that has lost the turn shows nothing:
    the one that has it now shows the end.
    """
    if state.suspended:
        return False
    if state.is_over:  # with its last answer: what stopped the work after that came too late
        if failure is not None and not isinstance(failure, STOPS):
            _log.error("turn %s failed after its end", state.turn.id, exc_info=failure)
        return True
    try:
        await _end(state, failure, parts)
        return True
    except TurnOver:
        _log.warning("turn %s is in other hands", state.turn.id)
    except Exception as error:  # the store is gone: a later healing ends the turn
        show_unkept(unstored_end(state, failure, error), state, parts.show)
    return False


async def _end(state: TurnState, failure: BaseException | None, parts: Parts) -> None:
    async with state.delivering:  # a decision is stored before the end, or is too late
        batches = left_open(state, failure)
        if error := error_of(state, failure):
            await _deliver([*batches, Batch([error])], state, parts)
            return
        await _deliver(batches, state, parts)
        ending = complete(state)
        await parts.store.finish_turn(state.turn, ending)
        await _deliver([Batch([ending])], state, parts)


async def deliver(batches: Sequence[Batch], state: TurnState, parts: Parts) -> None:
    """Stages 3, 4 and 5, in one step. Raises TurnOver if this process no longer has the turn."""
    async with state.delivering:
        if state.suspended or state.is_over:  # another process may already go on with it
            raise TurnOver(f"Turn {state.turn.id!r} waits, or is over.")
        state.held_back = []
        try:
            await _deliver(batches, state, parts)
        finally:
            _show_held_back(state)


def _show_held_back(state: TurnState) -> None:
    held_back, state.held_back = state.held_back or [], None
    for show in held_back:
        show()


async def _deliver(batches: Sequence[Batch], state: TurnState, parts: Parts) -> None:
    starting = [o for batch in batches for o in batch.outputs if type(o) is ToolStarted]
    if starting:  # after this they may have taken effect
        storing = parts.store.start_tools(state.turn, starting)
        ids = {tool.tool_use_id for tool in starting}
        await to_the_end(storing, lambda _: state.standing.started.update(ids))
    batches = [await _followed(b, state, parts) if can_be_followed(b) else b for b in batches]
    events = [event for batch in batches for event in normalize(batch, state, parts.rate)]
    if not events:  # a call has begun: nothing is stored or shown before its first piece
        return
    append = partial(parts.store.append, state.turn)
    if batches[-1].ends and (ending := complete_with(events, state)):
        events.append(Attributed(ending, state.agent, internal=False, kept=False))
        append = partial(append, complete=ending)
    index = state.index
    try:
        await store_and_emit(place(events, state), state, append, partial(_emit, state, parts))
    except AlreadyDecided:  # nothing of it is kept, and nothing was shown in its place
        state.index = index
        raise


def _emit(state: TurnState, parts: Parts, placed: Sequence[Envelope], number: int) -> None:
    """The end of stage 5. An end is shown and counted in one step: who sees it may ask again."""
    emit(placed, state, number, parts.show)
    parts.note(placed)
    if isinstance(placed[-1].event, k.ENDINGS):
        state.is_over = True
        parts.over(state)


async def _suspend(state: TurnState, store: Store) -> None:
    def waits(_: None) -> None:
        state.suspended = True

    await to_the_end(store.suspend_turn(state.turn), waits)


async def _followed(batch: Batch, state: TurnState, parts: Parts) -> Batch:
    """With its citations followed to what the agent was told of."""
    sources = state.sources.get((batch.agent or state.agent).id)
    return await followed(batch, sources, state.found, state.turn.user_id, parts.files)
