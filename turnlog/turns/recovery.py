"""Turns whose process died. Everything needed to go on with them, or to end them, is on disk.

One that died while tools were open goes on: what only reads runs again, what was allowed runs,
a write that had begun is in doubt. One that died in mid-answer ends: what had been shown becomes
a message, and an error says what happened; after that the session goes on as any other.
"""

import logging

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import store_and_emit
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import Draft, TurnState, resumed
from turnlog.ports import (
    Rate,
    Said,
    Show,
    Store,
    Turn,
    no_price,
)

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
    return bool(state.open_tools) and state.resumptions < MOST_RESUMPTIONS


async def recover(turn: Turn, store: Store, show: Show, rate: Rate = no_price) -> None:
    """End a turn that this process has claimed."""
    log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
    events = [at for at in log if at.turn_id == turn.id]
    draft = _draft(turn, events)
    state = resumed(turn, events)
    state.standing.started |= await store.started_tools(turn)
    if state.answered:  # only `complete` was missing, which is not kept
        await store.finish_turn(turn)
        return
    closing = close_open_tools(state.open_tools.values(), state.standing, CUT_OFF)
    if draft is not None:
        state.agent, state.index = draft.agent, max(state.index, draft.index)
        closing += draft.events("interrupted")
    placed = place(normalize(Said([*closing, INTERRUPTED]), state, rate), state)
    await store_and_emit(placed, state, lambda kept: store.append(turn, kept), show)


def _draft(turn: Turn, events: list[Stamped]) -> Draft | None:
    """What was saved, unless the message that it was a draft of has been kept since."""
    try:
        draft = msgspec.json.decode(turn.draft or b"", type=Draft)
    except msgspec.DecodeError:
        if turn.draft:
            _log.exception("the draft of turn %s cannot be read", turn.id)
        return None
    kept_since = (at for at in events if at.position > draft.position)
    return None if any(isinstance(at.event, k.Message) for at in kept_since) else draft
