"""Turns whose process died. Everything needed to go on with them, or to end them, is on disk.

One that died while tools were open goes on: what only reads runs again, what was allowed runs,
a write that had begun is in doubt. One that died in mid-answer ends: what had been shown becomes
a message, and an error says what happened; after that the session goes on as any other.

One that had a part erased meanwhile ends in any case. What it did is read from the rest of its log
and from the rows beside it.
"""

import logging
from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from turnlog.errors import ContentErased
from turnlog.events import kinds as k
from turnlog.pipeline.drafts import Drafts
from turnlog.pipeline.ending import complete, show_unkept
from turnlog.pipeline.normalization import normalize
from turnlog.pipeline.sequencing import place
from turnlog.pipeline.store_and_emit import emit, store_and_emit
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.pipeline.turn_state import TurnState, resumed
from turnlog.ports import (
    Approval,
    ApprovalState,
    Batch,
    OpenCall,
    Rate,
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
ERASED = k.Error(error=str(ContentErased()), code=ContentErased.code, retryable=False)
TAKEN_APART = "The turn was ended, because a part of it was erased."
UNNAMED = "erased"  # as the name of a tool whose call was erased
MOST_PENDING = 100_000  # approvals of one user that are looked through
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
    erased = {entry.erased for entry in events if entry.erased}
    if erased:
        pending = await store.list_approvals(turn.user_id, status="pending", limit=MOST_PENDING)
        _mend(state, [each for each in pending if each.turn_id == turn.id], erased)
    drafts = unkept(turn, state)
    state.index = max(state.index, drafts.index)
    if (
        state.answered and not drafts.answers and not erased
    ):  # only `complete` was missing, which is not kept
        ending = complete(state)
        await store.finish_turn(turn, ending)
        show_unkept(ending, state, show)
        return
    why, error = (TAKEN_APART, ERASED) if erased else (CUT_OFF, INTERRUPTED)
    closing = close_open_tools(list(state.open_calls.values()), state.standing, why)
    batches = [*closing, *draft_events(drafts), Batch([error])]
    placed = place([e for batch in batches for e in normalize(batch, state, rate)], state)
    append = partial(store.append, turn)
    await store_and_emit(placed, state, append, lambda p, number: emit(p, state, number, show))


def _mend(state: TurnState, pending: Sequence[Approval], erased: Collection[str]) -> None:
    """Add what the rows beside the log know of the turn: which writes have begun and not ended,
    and what people are asked. Where a result was erased, calls of which nothing else is known are
    dropped: that result may have been theirs, and a call has one result.
    """
    approvals = {each.tool_use_id: each for each in pending}
    sure = approvals.keys() | state.standing.started
    state.standing.approvals = {
        call: ApprovalState(approval_id=each.id, args=each.args, args_hash=each.args_hash)
        for call, each in approvals.items()
    }
    if "tool_result" in erased:
        for call in state.open_calls.keys() - sure:
            del state.open_calls[call]
    for call in sure - state.open_calls.keys():
        name = approvals[call].tool_name if call in approvals else UNNAMED
        use = k.ToolUse(tool_use_id=call, tool_name=name, args={})
        state.open_calls[call] = OpenCall(call=use, agent=state.agent)


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
