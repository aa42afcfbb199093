"""Stage 3. Whatever the engine, the same events.

In:  a batch of what an agent said, or its tools did.
Out: our events: attributed, internal ones marked, neighbors joined, none twice, each with the id
     of the answer that it belongs to.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import AgentRef, Attributed, Event
from turnlog.events.chunks import as_one
from turnlog.events.clock import now
from turnlog.pipeline.turn_state import Draft, TurnState, new_message_id
from turnlog.ports import (
    CallFailed,
    CallStarted,
    Hidden,
    Output,
    Rate,
    Said,
    SpeakerChanged,
    no_price,
)

_OF_AN_ANSWER = (
    k.MessageChunk, k.ThinkingChunk, k.ThinkingStart, k.ThinkingComplete,
    k.CitationsFound, k.Thinking, k.Message, k.WebSearched,
)  # fmt: skip


def normalize(said: Said, state: TurnState, rate: Rate = no_price) -> list[Attributed]:
    agent = said.agent or state.agent
    events: list[Attributed] = []
    asked, closed = set(state.asked_tools), state.asked_tools - state.open_calls.keys()
    for output in _joined(said.outputs):
        match output:
            case CallStarted():
                state.call_started(output, said.call, agent)
            case CallFailed():
                events += _given_up(state.drafts.pop(said.call, None), rate)
            case SpeakerChanged(to=to, reason=reason):
                events += _hand_over(agent, to, reason)
            case Hidden(event=event) if not _repeated(event, asked, closed):
                admitted = _admitted(event, said.call, agent, state, rate)
                events.append(Attributed(admitted, agent, internal=True, kept=event.kept))
            case Event() if not _repeated(output, asked, closed):
                event = _admitted(output, said.call, agent, state, rate)
                events.append(Attributed(event, agent, event.internal, event.kept))
    return events


def _repeated(event: Event, asked: set[str], closed: set[str]) -> bool:
    """A tool is asked for once and answers once, whatever comes how often."""
    match event:
        case k.ToolUse(tool_use_id=tool):
            again = tool in asked
            asked.add(tool)
            return again
        case k.ToolResult(tool_use_id=tool):
            again = tool not in asked or tool in closed
            closed.add(tool)
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


def _joined(outputs: Iterable[Output]) -> list[Output]:
    """Adjacent chunks of one block as one: what came together is shown together."""
    joined: list[Output] = []
    for output in outputs:
        one = as_one(joined[-1], output) if joined else None
        if one is not None:
            joined[-1] = one
        else:
            joined.append(output)
    return joined


def _admitted(event: Event, call: str, agent: AgentRef, state: TurnState, rate: Rate) -> Event:
    if not isinstance(event, _OF_AN_ANSWER):
        return event
    draft = state.drafts.get(call)
    own_id = draft.message_id if draft else event.message_id or new_message_id()
    if event.message_id != own_id:
        event = replace(event, message_id=own_id)
    match event:
        case k.MessageChunk() | k.ThinkingChunk() if draft is not None:
            draft.add(event)
        case k.Message():
            event = replace(_priced(event, rate), prefix=state.prefixes.get(agent.id, ""))
    return event


def _priced(message: k.Message, rate: Rate) -> k.Message:
    """With what each part of the call cost, and the whole. Drafts that were cut off too."""
    costs = rate(message.model, message.reported, now())
    whole = money.total(costs) if costs else None
    return replace(message, costs=costs, cost_usd=whole)
