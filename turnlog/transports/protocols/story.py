"""A turn as steps: the one fold that every other protocol is a table over.

Live events and events from the log lead to the same steps: a text that came without chunks
begins, grows once and ends; one whose connection broke begins again. Whatever begins, ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.content import TokenUsage


@dataclass(frozen=True)
class Step:
    """Something that a protocol may want to tell."""


@dataclass(frozen=True)
class Began(Step):
    """The turn began with this question."""

    turn_id: str
    question: k.UserMessageSent


@dataclass(frozen=True)
class Part(Step):
    """Of one block of one answer."""

    message_id: str
    block: int
    agent: AgentRef

    @property
    def id(self) -> str:
        """The same in every protocol, live and after a reload."""
        return f"{self.message_id}:{self.block}"


@dataclass(frozen=True)
class ThoughtBegan(Part): ...


@dataclass(frozen=True)
class ThoughtGrew(Part):
    text: str


@dataclass(frozen=True)
class ThoughtEnded(Part):
    text: str
    signature: str
    redacted: bool


@dataclass(frozen=True)
class TextBegan(Part): ...


@dataclass(frozen=True)
class TextGrew(Part):
    text: str


@dataclass(frozen=True)
class TextEnded(Part):
    text: str
    citations: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Said(Step):
    """One model call's answer is whole, and kept."""

    message: k.Message
    agent: AgentRef


@dataclass(frozen=True)
class Called(Step):
    call: k.ToolUse
    agent: AgentRef


@dataclass(frozen=True)
class Asked(Step):
    """A person, or the client itself, must answer."""

    approval: k.ApprovalRequested


@dataclass(frozen=True)
class Decided(Step):
    approval: k.ApprovalRequested
    decision: k.ApprovalResolved


@dataclass(frozen=True)
class Answered(Step):
    result: k.ToolResult
    call: k.ToolUse
    rejected: bool  # by a person: it did not run


@dataclass(frozen=True)
class TookOver(Step):
    agent: AgentRef
    before: str  # the id of the one who spoke


@dataclass(frozen=True)
class Waits(Step):
    """Nobody works on the turn until these are answered."""

    open: tuple[k.ApprovalRequested, ...]
    used: TokenUsage  # since the client listens: what it heard before was counted there


@dataclass(frozen=True)
class Ended(Step):
    complete: k.Complete
    used: TokenUsage  # as above, with what was said out of sight


@dataclass(frozen=True)
class Failed(Step):
    error: str
    code: str


@dataclass
class _Block:
    """What has been told of a block so far."""

    step: Part
    text: str = ""


@dataclass
class Story:
    """The fold: one event in, steps out."""

    open: dict[tuple[str, int], _Block] = field(default_factory=dict)
    told: set[tuple[str, int]] = field(default_factory=set)  # blocks that are over
    approvals: dict[str, k.ApprovalRequested] = field(default_factory=dict)  # undecided
    asked: dict[str, k.ApprovalRequested] = field(default_factory=dict)
    calls: dict[str, k.ToolUse] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)  # calls
    began: Began | None = None
    used: TokenUsage = field(default_factory=TokenUsage)  # by what was said
    used_before: TokenUsage = field(default_factory=TokenUsage)  # the client listens

    def take(self, entry: Stamped) -> Iterator[Step]:
        rule = _RULES.get(type(entry.event))
        if rule is not None:
            yield from rule(self, entry.event, entry)

    def again(self) -> Iterator[Step]:
        """What has begun and not ended, for a client that comes back in the middle: the turn
        itself first, which says what tools the client has.
        """
        self.used_before = self.used
        if self.began is not None:
            yield self.began
        for block in self.open.values():
            yield block.step

    def waits(self) -> Waits:
        return Waits(tuple(self.approvals.values()), self.used - self.used_before)

    # inside

    def _grow(
        self, began: type[Part], grew: type[Any], event: Any, entry: Stamped
    ) -> Iterator[Step]:
        key = (event.message_id, event.block_index)
        agent = entry.envelope.agent
        if key in self.told:
            return
        if key not in self.open:
            yield from self._close(event.message_id, began)
            self.open[key] = _Block(began(*key, agent))
            yield self.open[key].step
        if text := getattr(event, "content", ""):
            self.open[key].text += text
            yield grew(*key, agent, text)

    def _close(self, message_id: str, began: type[Part]) -> Iterator[Step]:
        """Texts of a message come one after the other: the next one ends the one before."""
        if began is TextBegan:
            for key, block in list(self.open.items()):
                if key[0] == message_id and isinstance(block.step, TextBegan):
                    yield from self._end_text(key, block.step.agent, block.text, ())

    def _end_text(
        self, key: tuple[str, int], agent: AgentRef, text: str, citations: Any
    ) -> Iterator[Step]:
        """The rest of the text, if anything was not told yet, and its end."""
        if key in self.told:
            return
        block = self.open.pop(key, None)
        if block is None:
            block = _Block(TextBegan(*key, agent))
            yield block.step
        if rest := text[len(block.text) :]:
            yield TextGrew(*key, agent, rest)
        self.told.add(key)
        yield TextEnded(*key, agent, text, tuple(citations))

    def _end_thought(self, event: Any, entry: Stamped) -> Iterator[Step]:
        key, agent = (event.message_id, event.block_index), entry.envelope.agent
        if key in self.told:
            return
        block = self.open.pop(key, None)
        if block is None:
            block = _Block(ThoughtBegan(*key, agent))
            yield block.step
        if rest := event.content[len(block.text) :]:
            yield ThoughtGrew(*key, agent, rest)
        self.told.add(key)
        signature, redacted = event.signature, getattr(event, "redacted", False)
        yield ThoughtEnded(*key, agent, event.content, signature, redacted)

    def close(self) -> Iterator[Step]:
        """End what has begun."""
        for key, block in list(self.open.items()):
            if isinstance(block.step, TextBegan):
                yield from self._end_text(key, block.step.agent, block.text, ())
            else:
                self.open.pop(key)
                self.told.add(key)
                yield ThoughtEnded(*key, block.step.agent, block.text, "", False)


def _began(story: Story, event: k.UserMessageSent, entry: Stamped) -> Iterator[Step]:
    story.began = Began(entry.turn_id, event)
    yield story.began


def _thinking(story: Story, event: Event, entry: Stamped) -> Iterator[Step]:
    yield from story._grow(ThoughtBegan, ThoughtGrew, event, entry)


def _thought(story: Story, event: Event, entry: Stamped) -> Iterator[Step]:
    yield from story._end_thought(event, entry)


def _writing(story: Story, event: Event, entry: Stamped) -> Iterator[Step]:
    yield from story._grow(TextBegan, TextGrew, event, entry)


def _said(story: Story, event: k.Message, entry: Stamped) -> Iterator[Step]:
    agent, content = entry.envelope.agent, event.content
    for span in event.spans:
        cited = [c for c in event.citations if c["blockIndex"] == span.blockIndex]
        text = content[span.start : span.end]
        if text or cited:
            key = (event.message_id, span.blockIndex)
            yield from story._end_text(key, agent, text, cited)
    for key, block in list(story.open.items()):  # a thought that was cut off
        if key[0] == event.message_id and isinstance(block.step, ThoughtBegan):
            del story.open[key]
            story.told.add(key)
            yield ThoughtEnded(*key, agent, block.text, "", False)
    story.used += event.token_usage
    yield Said(event, agent)


def _called(story: Story, event: k.ToolUse, entry: Stamped) -> Iterator[Step]:
    story.calls[event.tool_use_id] = event
    yield Called(event, entry.envelope.agent)


def _asked(story: Story, event: k.ApprovalRequested, entry: Stamped) -> Iterator[Step]:
    story.approvals[event.approval_id] = story.asked[event.approval_id] = event
    yield Asked(event)


def _decided(story: Story, event: k.ApprovalResolved, entry: Stamped) -> Iterator[Step]:
    story.approvals.pop(event.approval_id, None)
    approval = story.asked.get(event.approval_id)
    if approval is not None:
        if not event.approved:
            story.rejected.add(approval.tool_use_id)
        yield Decided(approval, event)


def _answered(story: Story, event: k.ToolResult, entry: Stamped) -> Iterator[Step]:
    if call := story.calls.get(event.tool_use_id):
        yield Answered(event, call, event.tool_use_id in story.rejected)


def _took_over(story: Story, event: k.AgentChanged, entry: Stamped) -> Iterator[Step]:
    yield TookOver(entry.envelope.agent, event.from_)


def _ended(story: Story, event: k.Complete, entry: Stamped) -> Iterator[Step]:
    yield from story.close()
    yield Ended(event, event.token_usage - story.used_before)


def _failed(story: Story, event: k.Error, entry: Stamped) -> Iterator[Step]:
    yield from story.close()
    yield Failed(event.error, event.code)


def _lost(story: Story, event: k.ResyncRequired, entry: Stamped) -> Iterator[Step]:
    yield from story.close()
    yield Failed(event.why, "resync_required")


_RULES: dict[type[Event], Any] = {
    k.UserMessageSent: _began,
    k.ThinkingStart: _thinking,
    k.ThinkingChunk: _thinking,
    k.ThinkingComplete: _thought,
    k.Thinking: _thought,
    k.MessageChunk: _writing,
    k.Message: _said,
    k.ToolUse: _called,
    k.ApprovalRequested: _asked,
    k.ApprovalResolved: _decided,
    k.ToolResult: _answered,
    k.AgentChanged: _took_over,
    k.Complete: _ended,
    k.Error: _failed,
    k.ResyncRequired: _lost,
}
