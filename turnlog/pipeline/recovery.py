"""Turns whose process died. Everything needed to end them is on disk.

What had been shown becomes a message, open tools get their one result, and the turn ends in
an error that says what happened; after that the session goes on as any other.
"""

import logging

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import store_and_emit
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import Draft, resumed
from turnlog.ports import Said, Store, Turn

_log = logging.getLogger(__name__)
INTERRUPTED = k.Error(
    error="The server stopped while this was being answered. Please ask again.",
    code="interrupted",
    retryable=True,
)
CUT_OFF = "The server stopped while this tool ran. It may or may not have taken effect."


async def recover(turn: Turn, store: Store) -> None:
    """End a turn that this process has claimed."""
    log = await store.read(turn.user_id, turn.session_id, after=turn.first_seq - 1)
    events = [at for at in log if at.turn_id == turn.id]
    draft = _draft(turn, events)
    state = resumed(turn, events)
    if state.answered:  # only `complete` was missing, which is not kept
        await store.finish_turn(turn.id)
        return
    closing: list[Event] = [*close_open_tools(state.open_tools.values(), CUT_OFF)]
    if draft is not None:
        state.agent, state.index = draft.agent, max(state.index, draft.index)
        closing += draft.events("interrupted")
    placed = place(normalize(Said([*closing, INTERRUPTED]), state), state)
    await store_and_emit(placed, state, lambda kept: store.append(turn, kept), lambda _: None)


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
