"""Turns whose process died. Everything needed to end them is on disk.

What had been shown becomes a message, open tools get their one result, and the turn ends in
an error that says what happened; after that the session goes on as any other.
"""

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import Draft, TurnState
from turnlog.ports import Said, Store, Turn
from turnlog.projections.transcript import GOES_ON

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
    if _is_answered(events):
        await store.finish_turn(turn.id)
        return
    draft = _draft(turn, events)
    state = _resumed(turn, events, draft)
    closing: list[Event] = [*close_open_tools(state.open_tools.values(), CUT_OFF)]
    if draft is not None:
        closing += draft.kept("interrupted")
    await store.append(turn, place(normalize(Said([*closing, INTERRUPTED]), state), state))


def _is_answered(events: list[Stamped]) -> bool:
    """Only `complete` was missing, which is not kept."""
    last = events[-1].event
    return isinstance(last, k.Message) and last.stop_reason not in GOES_ON


def _draft(turn: Turn, events: list[Stamped]) -> Draft | None:
    """What was saved, unless the message that it was a draft of has been kept since."""
    if turn.draft is None:
        return None
    draft = msgspec.json.decode(turn.draft, type=Draft)
    kept_since = any(
        at.position > draft.position for at in events if isinstance(at.event, k.Message)
    )
    return None if kept_since else draft


def _resumed(turn: Turn, events: list[Stamped], draft: Draft | None) -> TurnState:
    last = events[-1].placed
    shown = [at.placed.index for at in events if at.placed.index is not None]
    index = max([i + 1 for i in shown] + ([draft.index] if draft else []))
    state = TurnState(turn, draft.agent if draft else last.agent, index=index)
    state.position = events[-1].position
    for at in events:
        match at.event:
            case k.ToolUse() as call:
                state.open_tools[call.tool_use_id] = call
            case k.ToolResult(tool_use_id=tool):
                state.open_tools.pop(tool, None)
    return state
