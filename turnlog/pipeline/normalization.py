"""Stage 3. Whatever the engine, the same events.

In:  a batch of what an engine said.
Out: our events: attributed, internal ones marked, neighbors joined, none twice.
"""

from collections.abc import Iterable, Iterator

import msgspec

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import AgentRef, Attributed, Event
from turnlog.events.chunks import as_one
from turnlog.events.clock import now
from turnlog.events.internal import is_internal_tool
from turnlog.pipeline.turn_state import TurnState, new_message_id
from turnlog.ports import (
    CallStarted,
    Output,
    Rate,
    Said,
    no_price,
)


def normalize(said: Said, state: TurnState, rate: Rate = no_price) -> list[Attributed]:
    events = list(_hand_over(said.agent, state))
    asked, answered = set(state.asked_tools), set(state.asked_tools - state.open_tools.keys())
    for output in _joined(said.outputs):
        if isinstance(output, CallStarted):
            state.call_started(output)
        elif isinstance(output, Event) and not _repeated(output, asked, answered):
            events.append(_decided(_admitted(output, state, rate), state.agent))
    return events


def _repeated(event: Event, asked: set[str], answered: set[str]) -> bool:
    """A tool is asked for once and answers once, whatever comes how often."""
    match event:
        case k.ToolUse(tool_use_id=tool):
            again = tool in asked
            asked.add(tool)
            return again
        case k.ToolResult(tool_use_id=tool):
            again = tool not in asked or tool in answered
            answered.add(tool)
            return again
    return False


def _hand_over(agent: AgentRef | None, state: TurnState) -> Iterator[Attributed]:
    """A change of agent is shown as a signal, and kept as an internal record."""
    if agent is None or agent == state.agent:
        return
    change = k.AgentChanged(from_=state.agent.id, to=agent.id)
    state.agent = agent
    yield Attributed(change, agent, internal=True, kept=True)
    yield Attributed(change, agent, internal=False, kept=False)


def _decided(event: Event, agent: AgentRef) -> Attributed:
    internal = event.internal
    if isinstance(event, k.ToolUse | k.ToolResult):
        internal = is_internal_tool(event.tool_name)
    return Attributed(event, agent, internal, event.kept)


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


def _admitted(event: Event, state: TurnState, rate: Rate) -> Event:
    if isinstance(event, k.Message):
        event = _priced(event, rate)
    match event:
        case k.MessageChunk() | k.ThinkingChunk():
            _drafted(event, state)
        case k.Message():
            own_id = event.message_id or _own_id(state)
            return msgspec.structs.replace(event, message_id=own_id, prefix=state.prefix)
        case k.Thinking() | k.CitationsFound() if not event.message_id:
            return msgspec.structs.replace(event, message_id=_own_id(state))
    return event


def _priced(message: k.Message, rate: Rate) -> k.Message:
    """With what each part of the call cost, and the whole. Drafts that were cut off too."""
    costs = rate(message.model, message.reported, now())
    whole = money.total(costs) if costs else None
    return msgspec.structs.replace(message, costs=costs, cost_usd=whole)


def _drafted(chunk: k.MessageChunk | k.ThinkingChunk, state: TurnState) -> None:
    if state.draft is not None:
        state.draft.add(chunk)


def _own_id(state: TurnState) -> str:
    """The provider gave no id: the one that was minted when the call began."""
    return state.draft.message_id if state.draft else new_message_id()
