"""Stage 3. Whatever the engine, the same events.

In:  a batch of what an agent said, or of what its tools did.
Out: our events: attributed, internal ones marked, none twice, each with the id of the answer that
     it belongs to.
"""

from collections.abc import Iterator
from typing import TypeVar

from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import AgentRef, Attributed, Event
from turnlog.events.clock import now
from turnlog.events.ids import new_message_id
from turnlog.pipeline.drafts import Draft
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import Batch, CallFailed, CallStarted, Hidden, Rate, SpeakerChanged, no_price

Billed = TypeVar("Billed", k.Message, k.HistorySummarized)
_OF_AN_ANSWER = (
    k.MessageChunk, k.ThinkingChunk, k.ThinkingStart, k.ThinkingComplete,
    k.CitationsFound, k.Thinking, k.Message, k.WebSearched,
)  # fmt: skip


def normalize(batch: Batch, state: TurnState, rate: Rate = no_price) -> list[Attributed]:
    agent = batch.agent or state.agent
    events: list[Attributed] = []
    calls = _Calls(state)
    for output in batch.outputs:
        match output:
            case CallStarted():
                state.call_started(output, batch.call, agent)
            case CallFailed():
                events += _given_up(state.drafts.pop(batch.call, None), rate)
            case SpeakerChanged(to=to, reason=reason):
                events += _hand_over(agent, to, reason)
            case Hidden(event=event) if not calls.repeated(event):
                admitted = _admitted(event, batch.call, agent, state, rate)
                events.append(Attributed(admitted, agent, internal=True, kept=event.kept))
            case Event() if not calls.repeated(output):
                event = _admitted(output, batch.call, agent, state, rate)
                events.append(Attributed(event, agent, event.internal, event.kept))
    return events


class _Calls:
    """A tool is asked for once and answers once, whatever comes how often."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._asked: set[str] = set()  # in this batch
        self._closed: set[str] = set()

    def repeated(self, event: Event) -> bool:
        state = self._state
        match event:
            case k.ToolUse(tool_use_id=tool):
                again = tool in state.asked_tools or tool in self._asked
                self._asked.add(tool)
                return again
            case k.ToolResult(tool_use_id=tool):
                is_open = tool in state.open_calls or tool in self._asked
                again = not is_open or tool in self._closed
                self._closed.add(tool)
                return again
        return False


def _hand_over(before: AgentRef, to: AgentRef, reason: str) -> Iterator[Attributed]:
    """A change of speaker is shown as a signal, and kept as an internal record."""
    change = k.AgentChanged(from_=before.id, to=to.id, reason=reason)
    yield Attributed(change, to, internal=True, kept=True)
    yield Attributed(change, to, internal=False, kept=False)


def _given_up(draft: Draft | None, rate: Rate) -> Iterator[Attributed]:
    """What was shown of a call that failed stays, and is billed."""
    for event in draft.events("interrupted") if draft else ():
        event = _priced(event, rate) if isinstance(event, k.Message) else event
        assert draft is not None
        yield Attributed(event, draft.agent, internal=False, kept=True)


def _admitted(event: Event, call: str, agent: AgentRef, state: TurnState, rate: Rate) -> Event:
    match event:
        case k.ApprovalRequested():  # who decides knows what it has cost
            return replace(event, cost_so_far_usd=money.total(state.costs))
        case k.ToolResult() if event.tool_use_id in state.standing.started:
            return replace(event, began=True)
        case k.HistorySummarized():
            return _priced(event, rate)
    if not isinstance(event, _OF_AN_ANSWER):
        return event
    draft = state.drafts.get(call)
    own_id = draft.message_id if draft else event.message_id or new_message_id()
    if event.message_id != own_id:
        event = replace(event, message_id=own_id)
    match event:
        case k.MessageChunk() | k.ThinkingChunk() if draft is not None:
            draft.chunks.append(event)
        case k.Message():
            event = replace(_priced(event, rate), prefix=state.prefixes.get(agent.id, ""))
    return event


def _priced(call: Billed, rate: Rate) -> Billed:
    """With what each part of the call cost, and the whole. Drafts that were cut off too."""
    costs = rate(call.model, call.reported, now())
    whole = money.total(costs) if costs else None
    return replace(call, costs=costs, cost_usd=whole)
