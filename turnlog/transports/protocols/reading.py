"""What is over, for a reload through another protocol: turns of whole parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Stamped
from turnlog.transports.protocols import story as s


@dataclass
class Thought:
    step: s.ThoughtEnded


@dataclass
class Text:
    """One block of text with the sources it cites."""

    step: s.TextEnded


@dataclass
class Tool:
    """A call and all that became of it."""

    call: k.ToolUse
    agent: AgentRef
    message_id: str  # of the answer that called it
    approval: k.ApprovalRequested | None = None
    decision: k.ApprovalResolved | None = None
    result: k.ToolResult | None = None

    @property
    def waits(self) -> bool:
        return self.approval is not None and self.decision is None and self.result is None

    @property
    def rejected(self) -> bool:
        return self.decision is not None and not self.decision.approved


@dataclass
class TurnRecord:
    """One question, and the parts of its answer in order."""

    turn_id: str
    question: k.UserMessageSent
    first_seq: int
    asked_at: str
    last_at: str
    parts: list[Thought | Text | Tool] = field(default_factory=list)
    messages: list[k.Message] = field(default_factory=list)
    steps: list[s.Step] = field(default_factory=list)
    error: k.Error | None = None

    def tools(self) -> list[Tool]:
        return [part for part in self.parts if isinstance(part, Tool)]

    @property
    def waits(self) -> bool:
        return self.error is None and any(tool.waits for tool in self.tools())

    @property
    def text(self) -> str:
        """All that was said, each message as it was."""
        return "".join(message.content for message in self.messages)


def turns(entries: Sequence[Stamped]) -> list[TurnRecord]:
    """The turns of a page, oldest first. One whose question is above the page is left out."""
    records: dict[str, TurnRecord] = {}
    story = s.Story()
    for entry in entries:
        event, envelope = entry.event, entry.envelope
        if isinstance(event, k.UserMessageSent):
            records[entry.turn_id] = TurnRecord(
                entry.turn_id, event, entry.seq or 0, envelope.time, envelope.time
            )
        steps = list(story.take(entry))
        record = records.get(entry.turn_id)
        if record is None:
            continue
        record.last_at = envelope.time
        record.steps += steps
        if isinstance(event, k.Error):
            record.error = event
        for step in steps:
            rule = _RULES.get(type(step))
            if rule is not None:
                rule(record, step)
    return list(records.values())


def _thought(record: TurnRecord, step: s.ThoughtEnded) -> None:
    record.parts.append(Thought(step))


def _text(record: TurnRecord, step: s.TextEnded) -> None:
    record.parts.append(Text(step))


def _said(record: TurnRecord, step: s.Said) -> None:
    record.messages.append(step.message)


def _called(record: TurnRecord, step: s.Called) -> None:
    message_id = record.messages[-1].message_id if record.messages else ""
    record.parts.append(Tool(step.call, step.agent, message_id))


def _tool(record: TurnRecord, tool_use_id: str) -> Tool | None:
    return next((t for t in record.tools() if t.call.tool_use_id == tool_use_id), None)


def _asked(record: TurnRecord, step: s.Asked) -> None:
    if tool := _tool(record, step.approval.tool_use_id):
        tool.approval = step.approval


def _decided(record: TurnRecord, step: s.Decided) -> None:
    if tool := _tool(record, step.approval.tool_use_id):
        tool.decision = step.decision


def _answered(record: TurnRecord, step: s.Answered) -> None:
    if tool := _tool(record, step.result.tool_use_id):
        tool.result = step.result


_RULES: dict[type[s.Step], Callable[[TurnRecord, Any], None]] = {
    s.ThoughtEnded: _thought,
    s.TextEnded: _text,
    s.Said: _said,
    s.Called: _called,
    s.Asked: _asked,
    s.Decided: _decided,
    s.Answered: _answered,
}
