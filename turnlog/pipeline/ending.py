"""How a turn ends: what is still open is closed, and `complete` or `error` says how it went."""

import asyncio
import logging
from collections.abc import Sequence

from turnlog.errors import TimedOut, TurnlogError
from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Attributed, Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.ids import new_message_id
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import stamp
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import TurnState, resumed
from turnlog.ports import Batch, Show, Turn

_log = logging.getLogger(__name__)
UNEXPLAINED = k.Error(
    error="Something went wrong on the server. It has been recorded.",
    code="internal_error",
    retryable=True,
)


class ShuttingDown(TurnlogError):
    """The server stops before the answer is finished."""

    code = "interrupted"
    retryable = True

    def __init__(self) -> None:
        super().__init__("The server was restarted in mid-answer. Please ask again.")


class Withdrawn(asyncio.CancelledError):
    """The user sent another message instead of an answer to what the turn asks."""


STOPS = (asyncio.CancelledError, ShuttingDown, TimedOut)  # what ends a turn that has not failed


def left_open(state: TurnState, failure: BaseException | None) -> list[Batch]:
    """Stage 6, calls that are not in the log yet, and what was shown of each answer that will not
    be finished."""
    stopped = isinstance(failure, asyncio.CancelledError)
    if isinstance(failure, Withdrawn):
        why = "The user sent another message instead."
    else:
        why = "Stopped by the user." if stopped else "The turn ended before this tool answered."
    closed = close_open_tools(list(state.open_calls.values()), state.standing, why)
    reason = "cancelled" if stopped else "interrupted"
    unfinished = [Batch(draft.events(reason), draft.agent) for draft in state.drafts.values()]
    if stopped and not unfinished and not state.answered:
        unfinished = [Batch([_nothing_said()])]
    called = [Batch([*state.summaries.values()])] if state.summaries else []
    return [*called, *closed, *unfinished]


def error_of(state: TurnState, failure: BaseException | None) -> k.Error | None:
    """What the user is told of the failure. A stop is no failure."""
    match failure:
        case None | asyncio.CancelledError():
            return None
        case TurnlogError():
            return k.Error(error=str(failure), code=failure.code, retryable=failure.retryable)
    _log.error("turn %s failed", state.turn.id, exc_info=failure)
    return UNEXPLAINED


def unstored_end(
    state: TurnState, failure: BaseException | None, why: Exception
) -> k.Complete | k.Error:
    """What is shown where the store could not end the turn. If all of it is in the log, it is
    complete: so a reload shows it, and so a healing ends it.
    """
    if state.answered and not state.drafts and isinstance(failure, asyncio.CancelledError | None):
        _log.error("turn %s is complete, and stays open until it is healed: %r", state.turn.id, why)
        return complete(state)
    return error_of(state, why) or UNEXPLAINED


def complete(state: TurnState, answer: k.Message | None = None) -> k.Complete:
    """How the turn ends; with `answer`, which is about to be kept, as its last message."""
    last = answer or state.last_message
    if answer is None:
        used, cost = state.usage, money.total(state.costs)
    elif not state.costs:  # most turns have one answer
        used, cost = answer.token_usage, answer.cost_usd
    else:
        used = state.usage + answer.token_usage
        cost = money.total([*state.costs, answer.cost_usd])
    return k.Complete(
        reason="cancelled" if last and last.stop_reason == "cancelled" else "success",
        stop_reason=last.stop_reason if last else "end_turn",
        token_usage=used,
        model=(last and last.model) or state.model,
        tools_used=list(dict.fromkeys(state.tools_used.values())),
        cost_usd=cost,
    )


def complete_with(last: Sequence[Attributed], state: TurnState) -> k.Complete | None:
    """How the turn ends with these events, which are about to be kept.

    None: something else of the turn is open, or they have no answer.
    """
    answers = [each.event for each in last if type(each.event) is k.Message]
    if len(answers) != 1 or state.open_calls:
        return None
    (answer,) = answers
    others = [d for d in state.drafts.values() if d.message_id != answer.message_id]
    return None if others else complete(state, answer)


def completed_again(kept: Sequence[Stamped]) -> Stamped:
    """The `complete` of a turn that is over, made again from its kept events.

    It is there to be shown: an answer that was erased ends the turn all the same.
    """
    first, last = kept[0], kept[-1]
    turn = Turn(
        id=last.turn_id,
        session_id=last.session_id,
        user_id="",
        state="done",
        first_seq=first.position,
        started_at=first.envelope.time,
    )
    state = resumed(turn, kept)
    answers = [(entry.event, entry.erased) for entry in kept if isinstance(entry.event, k.Message)]
    answer = answers[-1][0] if answers and answers[-1][1] else None
    placed = place([Attributed(complete(state, answer), state.agent, False, False)], state)
    return stamp(placed[0], None, state)


def show_unkept(ending: k.Complete | k.Error, state: TurnState, show: Show) -> None:
    """Show how the turn ended, without storing it."""
    placed = place([Attributed(ending, state.agent, internal=False, kept=False)], state)
    show([stamp(p, None, state) for p in placed])


def _nothing_said() -> k.Message:
    """A stopped turn ends in a message, also when the model had said nothing."""
    return k.Message(
        message_id=new_message_id(),
        blocks=[],
        stop_reason="cancelled",
        model="",
        token_usage=TokenUsage(),
    )
