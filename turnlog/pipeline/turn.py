"""One turn, all six stages on one page: read this first.

    question -> 1 context_building -> 2 execution -> 3 normalization -> 4 sequencing
             -> 5 store_and_emit, batch by batch; at the end 6 tool_finalization

`begin` returns when the user's message is on disk. `work` may fail or be cancelled at any
moment; `end` comes after it in any case, and ends the turn with `complete` or `error`, unless
it waits for a person. `live_turn` runs the two. `resume` finds a turn as the log has it, so
that `work` can go on with it in any process.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from turnlog.errors import EngineFailed, TurnlogError, TurnOver
from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import (
    Attributed,
    Event,
    Placed,
    Stamped,
)
from turnlog.events.clock import now
from turnlog.events.content import TokenUsage
from turnlog.pipeline.context_building import Limits, admit, build_context
from turnlog.pipeline.execution import execute
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import (
    Append,
    emit,
    stamp,
    store_and_emit,
)
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import (
    TurnState,
    new_id,
    new_message_id,
    resumed,
)
from turnlog.ports import (
    Agent,
    Engine,
    Question,
    Rate,
    Said,
    Session,
    Show,
    Standing,
    Store,
    ToolBox,
    ToolStarted,
    Turn,
    no_price,
)
from turnlog.turns.budgets import NO_BUDGETS, Budgets
from turnlog.turns.drafts import DraftKeeper
from turnlog.turns.pace import Pacer

_log = logging.getLogger(__name__)
TOO_LONG = "context_exceeded"  # what an engine says when the model cannot take it all in
UNEXPLAINED = k.Error(
    error="Something went wrong on the server. It has been recorded.",
    code="internal_error",
    retryable=True,
)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a turn works with: shared by many, changed by none."""

    session: Session
    agent: Agent
    engine: Engine
    store: Store
    limits: Limits
    tools_for: Callable[[Turn, Standing], Awaitable[ToolBox]]
    show: Show
    rate: Rate = no_price  # what a model call costs
    budgets: Budgets = NO_BUDGETS


async def begin(question: Question, turn_id: str, parts: Parts) -> TurnState:
    """Keep the user's message. From here on it cannot be lost."""
    admit(question, parts.limits)
    session = parts.session
    state = TurnState(
        Turn(
            id=turn_id,
            session_id=session.id,
            user_id=session.user_id,
            state="running",
            first_seq=0,
            started_at=now(),
            request_id=question.request_id,
        ),
        parts.agent.ref,
    )

    async def open_turn(first: Sequence[Placed]) -> int:
        state.turn = await parts.store.begin_turn(state.turn, first)
        return state.turn.first_seq

    sent = k.UserMessageSent(
        message_id=new_id(),
        content=question.message,
        file_ids=question.file_ids,
        enable_thinking=question.enable_thinking,
        thinking_budget=question.thinking_budget,
    )
    await deliver(Said([sent]), state, parts, open_turn)
    return state


async def resume(turn: Turn, store: Store) -> tuple[Question, TurnState]:
    """The turn where the log left it, and the question that it began with."""
    log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
    events = [at for at in log if at.turn_id == turn.id]
    first = events[0].event
    assert isinstance(first, k.UserMessageSent)
    question = Question(
        message=first.content,
        file_ids=first.file_ids,
        enable_thinking=first.enable_thinking,
        thinking_budget=first.thinking_budget,
        request_id=turn.request_id,
    )
    state = resumed(turn, events)
    state.standing.started |= await store.started_tools(turn)
    return question, state


async def work(question: Question, state: TurnState, parts: Parts) -> None:
    """Answer the question, until it is answered or a person must decide something."""
    while True:
        try:
            await _answer(question, state, parts)
        except EngineFailed as failure:
            if failure.code != TOO_LONG or state.last_message is not None:
                raise  # in mid-turn the anchor stays where it is
            await _answer(question, state, parts, too_long=True)
        async with state.delivering:
            if state.pending and not state.ready:
                await _to_the_end(_pause(state, parts.store))
                return
        if not state.ready:
            return


async def _pause(state: TurnState, store: Store) -> None:
    await store.pause_turn(state.turn.id)
    state.paused = True


async def _answer(
    question: Question, state: TurnState, parts: Parts, too_long: bool = False
) -> None:
    """Stages 1 and 2, and the others for each batch that comes of them."""
    session = parts.session
    if too_long or state.open_tools:  # the turn has moved on: its anchor, its searches
        session = await parts.store.get_session(session.user_id, session.id)
    keeper = DraftKeeper(state, parts.store)
    pacer = Pacer(lambda said: _show_chunks(said, state, parts, keeper))
    try:
        tools = await parts.tools_for(state.turn, state.standing)
        ask, records, state.prefix = await build_context(
            question,
            session,
            parts.agent,
            parts.store,
            parts.limits,
            list(state.open_tools.values()),
            tools.specs,
            too_long=too_long,
        )
        await deliver(Said(records), state, parts)
        guard = parts.budgets.guard(state.turn, ask, tools, parts.engine)
        async with aclosing(guard(execute(ask, parts.engine, tools))) as batches:
            async for said in batches:
                if pacer.takes(said):
                    pacer.add(said)
                else:
                    pacer.flush()
                    await deliver(said, state, parts)
                    keeper.touch()
    finally:
        pacer.close()
        await keeper.close()


async def end(state: TurnState, failure: BaseException | None, parts: Parts) -> None:
    """Close what is open and say how it ended. `failure` is what `work` was stopped by."""
    if state.paused:
        return
    try:
        await _end(state, failure, parts)
    except Exception as error:
        _tell_unkept(_error(state, error) or UNEXPLAINED, state, parts.show)


async def _end(state: TurnState, failure: BaseException | None, parts: Parts) -> None:
    async with state.delivering:  # a decision comes before all of it, or too late
        left_open = _left_open(state, failure)
        if error := _error(state, failure):
            await _deliver(Said([*left_open, error]), state, parts)
            return
        await _deliver(Said(left_open), state, parts)
        await parts.store.finish_turn(state.turn.id)
        await _deliver(Said([_complete(state)]), state, parts)


def _tell_unkept(error: k.Error, state: TurnState, show: Show) -> None:
    """The store is gone: the user is told all the same. A later start ends the turn."""
    placed = place([Attributed(error, state.agent, internal=False, kept=False)], state)
    show([stamp(p, None, state) for p in placed])


def _show_chunks(said: Said, state: TurnState, parts: Parts, keeper: DraftKeeper) -> None:
    """Stages 3, 4 and 5 for chunks, which are not stored."""
    emit(place(normalize(said, state), state), state, state.position + 1, parts.show)
    keeper.touch()


async def deliver(said: Said, state: TurnState, parts: Parts, append: Append | None = None) -> None:
    """Stages 3, 4 and 5 for one batch. Raises TurnOver where the turn is not ours any more."""
    async with state.delivering:
        if state.paused:  # it may go on already, with a state of its own
            raise TurnOver(f"Turn {state.turn.id!r} waits.")
        await _deliver(said, state, parts, append)


async def _deliver(
    said: Said, state: TurnState, parts: Parts, append: Append | None = None
) -> None:
    if starting := [output for output in said.outputs if isinstance(output, ToolStarted)]:
        await _to_the_end(_start(starting, state, parts.store))
    placed = place(normalize(said, state, parts.rate), state)
    append = append or partial(parts.store.append, state.turn)
    storing = store_and_emit(placed, state, append, parts.show)
    await (_to_the_end(storing) if any(p.kept for p in placed) else storing)


async def _start(starting: Sequence[ToolStarted], state: TurnState, store: Store) -> None:
    """From here on these may have taken effect."""
    await store.start_tools(state.turn, starting)
    state.standing.started |= {tool.tool_use_id for tool in starting}


async def _to_the_end(storing: Coroutine[Any, Any, None]) -> None:
    """A turn that is stopped while it stores must know what was stored before it goes on."""
    task = asyncio.create_task(storing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _left_open(state: TurnState, failure: BaseException | None) -> list[Event]:
    """Stage 6, and what was shown of an answer that will not be finished."""
    stopped = isinstance(failure, asyncio.CancelledError)
    why = "Stopped by the user." if stopped else "The turn ended before this tool answered."
    closed = close_open_tools(state.open_tools.values(), state.standing, why)
    if state.draft is not None:
        return [*closed, *state.draft.events("cancelled" if stopped else "interrupted")]
    return [*closed, _nothing_said()] if stopped and not state.answered else closed


def completed_again(kept: Sequence[Stamped]) -> Stamped:
    """The `complete` of a turn that is over, made again from its kept events."""
    first, last = kept[0], kept[-1]
    turn = Turn(
        id=last.turn_id,
        session_id=last.session_id,
        user_id="",
        state="done",
        first_seq=first.position,
        started_at=first.placed.at,
    )
    state = resumed(turn, kept)
    placed = place([Attributed(_complete(state), state.agent, False, False)], state)
    return stamp(placed[0], None, state)


def _nothing_said() -> k.Message:
    """A stopped turn ends in a message, also when nothing had been said."""
    return k.Message(
        message_id=new_message_id(),
        blocks=[],
        stop_reason="cancelled",
        model="",
        token_usage=TokenUsage(),
    )


class ShuttingDown(TurnlogError):
    """The server stops before the answer is finished."""

    code = "interrupted"
    retryable = True

    def __init__(self) -> None:
        super().__init__("The server was restarted in mid-answer. Please ask again.")


def _error(state: TurnState, failure: BaseException | None) -> k.Error | None:
    match failure:
        case None | asyncio.CancelledError():
            return None
        case TurnlogError():
            return k.Error(error=str(failure), code=failure.code, retryable=failure.retryable)
    _log.error("turn %s failed", state.turn.id, exc_info=failure)
    return UNEXPLAINED


def _complete(state: TurnState) -> k.Complete:
    last = state.last_message
    return k.Complete(
        reason="cancelled" if last and last.stop_reason == "cancelled" else "success",
        stop_reason=last.stop_reason if last else "end_turn",
        token_usage=state.usage,
        model=last.model if last else "",
        tools_used=list(state.tools_used),
        cost_usd=money.total(state.costs),
    )
