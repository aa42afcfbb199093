"""Turns whose process died. Everything needed to go on with them, or to end them, is on disk.

One that died while tools were open goes on: what only reads runs again, what was allowed runs,
a write that had begun is in doubt. One that died in mid-answer ends: what had been shown becomes
a message, and an error says what happened; after that the session goes on as any other.
"""

import logging

import msgspec

from turnlog.events import kinds as k
from turnlog.pipeline.ending import complete, show_unkept
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import store_and_emit
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import Drafts, TurnState, resumed
from turnlog.ports import Batch, Rate, Show, Store, Turn, no_price

_log = logging.getLogger(__name__)
INTERRUPTED = k.Error(
    error="The server stopped while this was being answered. Please ask again.",
    code="interrupted",
    retryable=True,
)
CUT_OFF = "The server stopped before this tool answered."
MOST_RESUMPTIONS = 3  # a turn that kills every process that goes on with it is ended


def goes_on(state: TurnState) -> bool:
    """Whether the turn is worth going on with."""
    return bool(state.open_calls) and state.resumptions < MOST_RESUMPTIONS


async def recover(turn: Turn, store: Store, show: Show, rate: Rate = no_price) -> None:
    """End a turn that this process has claimed."""
    log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
    events = [entry for entry in log if entry.turn_id == turn.id]
    state = resumed(turn, events)
    state.standing.started |= await store.started_tools(turn)
    drafts = unkept(turn, state)
    state.index = max(state.index, drafts.index)
    if state.answered and not drafts.answers:  # only `complete` was missing, which is not kept
        ending = complete(state)
        await store.finish_turn(turn, ending)
        show_unkept(ending, state, show)
        return
    closing = close_open_tools(list(state.open_calls.values()), state.standing, CUT_OFF)
    batches = [*closing, *draft_events(drafts), Batch([INTERRUPTED])]
    placed = place([e for batch in batches for e in normalize(batch, state, rate)], state)
    await store_and_emit(placed, state, lambda kept: store.append(turn, kept), show)


def draft_events(drafts: Drafts) -> list[Batch]:
    """What had been shown of each answer, as its own agent's words."""
    return [Batch(draft.events("interrupted"), draft.agent) for draft in drafts.answers]


def unkept(turn: Turn, state: TurnState) -> Drafts:
    """What was saved, without the answers that have been kept since."""
    drafts = Drafts(index=0, answers=[])
    try:
        for piece in (turn.draft or b"").splitlines():
            drafts.grow(msgspec.json.decode(piece, type=Drafts))
    except msgspec.DecodeError:
        _log.exception("the drafts of turn %s cannot be read", turn.id)
    answers = [draft for draft in drafts.answers if draft.message_id not in state.message_ids]
    return Drafts(index=drafts.index, answers=answers)
