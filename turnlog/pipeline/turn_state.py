"""All that changes during a turn. Made fresh for each, passed along, never shared."""

import asyncio
import hashlib
import os
import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.content import Block, Citation, TokenUsage, usage_of
from turnlog.events.grammar import GOES_ON
from turnlog.events.handovers import HANDOVER
from turnlog.events.search_results import blocks_of
from turnlog.ports import ApprovalState, Batch, CallStarted, OpenCall, Standing, Turn
from turnlog.projections.citations import Sources
from turnlog.projections.history.messages import MOST_OF_A_RESULT

_URLS = uuid.NAMESPACE_URL.bytes
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


class DraftBlock(msgspec.Struct):
    """A block that is being written: its pieces so far."""

    kind: str  # "text" or "thinking"
    index: int
    pieces: list[str] = []
    citations: list[Citation] = []

    def has_more_than(self, mark: "Mark") -> bool:
        return len(self.pieces) > mark.pieces or len(self.citations) > mark.citations

    def as_text(self) -> Block:
        block: Block = {"type": "text", "text": "".join(self.pieces)}
        return block | ({"citations": self.citations} if self.citations else {})


class Mark(NamedTuple):
    """How much of a draft was saved."""

    draft: "Draft"
    message_id: str
    blocks: int
    pieces: int  # of the last block
    citations: int

    @classmethod
    def of(cls, draft: "Draft") -> "Mark":
        last = draft.blocks[-1] if draft.blocks else DraftBlock("", 0)
        sizes = len(draft.blocks), len(last.pieces), len(last.citations)
        return cls(draft, draft.message_id, *sizes)


class Draft(msgspec.Struct, kw_only=True):
    """What has been shown of an answer that is not kept yet."""

    message_id: str
    model: str
    reported: dict[str, Any]
    agent: AgentRef
    blocks: list[DraftBlock] = []
    goes_on: bool = False  # its first blocks were saved before

    def since(self, mark: "Mark | None") -> "Draft":
        """What is new since the mark; all of it where there is none."""
        if mark is None or mark.draft is not self or mark.message_id != self.message_id:
            return self
        new = [*self.blocks[mark.blocks :]]
        if mark.blocks and (last := self.blocks[mark.blocks - 1]).has_more_than(mark):
            more = last.pieces[mark.pieces :], last.citations[mark.citations :]
            new.insert(0, DraftBlock(last.kind, last.index, *more))
        return msgspec.structs.replace(self, blocks=new, goes_on=True)

    def grow(self, later: "Draft") -> None:
        """Put what was saved later to it."""
        self.reported = later.reported
        for block in later.blocks:
            mine = self.blocks[-1] if self.blocks else None
            if mine is not None and (mine.kind, mine.index) == (block.kind, block.index):
                mine.pieces += block.pieces
                mine.citations += block.citations
            else:
                self.blocks.append(block)

    def add(self, chunk: k.MessageChunk | k.ThinkingChunk) -> None:
        kind = "text" if type(chunk) is k.MessageChunk else "thinking"
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.index != chunk.block_index or last.kind != kind:
            last = DraftBlock(kind, chunk.block_index)
            self.blocks.append(last)
        last.pieces.append(chunk.content)
        if type(chunk) is k.MessageChunk and chunk.citations is not UNSET:
            last.citations += [_bare(citation) for citation in chunk.citations]

    def events(self, stop_reason: str) -> list[Event]:
        """The events that keep what was shown. It is billed by what was last reported."""
        thoughts: list[Event] = [
            k.Thinking(
                message_id=self.message_id,
                content="".join(block.pieces),
                block_index=block.index,
            )
            for block in self.blocks
            if block.kind == "thinking"
        ]
        return [*thoughts, self._message(stop_reason)]

    def _message(self, stop_reason: str) -> k.Message:
        texts = [block for block in self.blocks if block.kind == "text"]
        return k.Message(
            message_id=self.message_id,
            blocks=[block.as_text() for block in texts],
            block_indexes=[block.index for block in texts],
            stop_reason=stop_reason,
            model=self.model,
            token_usage=usage_of(self.reported),
            reported=self.reported,
        )


class Drafts(msgspec.Struct, kw_only=True):
    """What a turn saves about once a second, in case its process dies: what is new since then."""

    index: int  # the next place on screen
    answers: list[Draft]
    open: list[str] | None = None  # the message ids of all that are being written; None: these

    def grow(self, later: "Drafts") -> None:
        """Put what was saved later to it."""
        known = {draft.message_id: draft for draft in self.answers}
        for draft in later.answers:
            if draft.goes_on and draft.message_id in known:
                known[draft.message_id].grow(draft)
            else:
                known[draft.message_id] = draft
        still = known if later.open is None else set(later.open)
        self.answers = [draft for id, draft in known.items() if id in still]
        self.index = later.index


class TurnState:
    """Where a turn stands."""

    def __init__(self, turn: Turn, agent: AgentRef, *, index: int = 0) -> None:
        self.turn = turn
        self.agent = agent  # who speaks
        self.index = index  # of the next event on screen
        self.position = -1  # number of the last kept event
        self.prefixes: dict[str, str] = {}  # by agent: fingerprint of prompt, tools and model
        self.prompts: dict[str, str] = {}  # by agent, as they were made for this turn
        # By agent: what its prompt has that can be cited.
        self.sources: dict[str, Callable[[], Sources] | None] = {}
        self.found: list[Block] = []  # what searches of this turn have found
        self.file_ids: Sequence[str] = ()  # that came with the question
        self.asked_tools: set[str] = set()
        self.open_calls: dict[str, OpenCall] = {}
        self.standing = Standing()  # which calls are approved, refused or begun
        self.resumptions = 0
        self.paused: k.EnginePaused | None = None  # where an engine waits for people
        self.suspended = False  # it waits for a person, and no process holds it
        self.is_over = False  # in the store, and its end was shown
        self.delivering = asyncio.Lock()  # a decision may come while the turn goes on
        self.held_back: list[Callable[[], None]] = []  # shows chunks that came meanwhile
        self.drafts: dict[str, Draft] = {}  # by call: answers that are being written
        self.answers: dict[str, k.Message] = {}  # by agent: its newest one, since it was asked
        self.usage = TokenUsage()
        self.costs: list[Decimal | None] = []  # of the calls so far
        self.message_ids: set[str] = set()  # of the answers that are kept
        self.texts: list[str] = []  # of these answers
        self.last_message: k.Message | None = None
        self._owes_answer = False  # a result came after the last message
        self.tools_used: list[str] = []
        self._stem = _stem()
        self._made = 0

    @property
    def answered(self) -> bool:
        """Whether the last message was meant as the end, and not as the result of a task."""
        last = self.last_message
        if last is None or self.open_calls or self._owes_answer:
            return False
        return last.stop_reason not in GOES_ON

    @property
    def pending(self) -> list[str]:
        """The calls that a person has not decided yet."""
        return self.standing.pending(self.open_calls)

    @property
    def ready(self) -> bool:
        """Whether a person has decided on a call that has no result yet."""
        undecided = self.pending
        known = (tool for tool in self.open_calls if tool in self.standing.approvals)
        return any(tool not in undecided for tool in known)

    def from_outside(self, event: Event) -> Batch:
        """The event as a batch of the agent that it is about: a decision is about its call."""
        if isinstance(event, k.ApprovalResolved):
            for opened in self.open_calls.values():
                approval = self.standing.approvals.get(opened.call.tool_use_id)
                if approval is not None and approval.approval_id == event.approval_id:
                    return Batch([event], opened.agent)
        return Batch([event])

    def event_id(self, event: Event) -> str:
        """A UUID: a random stem for the turn and a counter, which is cheap.

        That of `complete` never changes, because `complete` may be made again.
        """
        if type(event) is k.Complete:
            return _named_id(f"turnlog:{self.turn.id}:complete")
        self._made += 1
        return f"{self._stem}-{self._made:012x}"

    def call_started(self, call: CallStarted, key: str, agent: AgentRef) -> None:
        again = self.drafts.get(key)  # a stream that begins anew is the same answer
        self.drafts[key] = Draft(
            message_id=again.message_id if again else call.message_id or new_message_id(),
            model=call.model,
            reported=call.reported,
            agent=agent,
        )

    def rename_drafts(self, fresh: Mapping[str, str]) -> None:
        """These message ids were taken: the drafts get the fresh ones."""
        for draft in self.drafts.values():
            draft.message_id = fresh.get(draft.message_id, draft.message_id)

    def _found_out(self, event: k.ToolResult) -> None:
        if event.success:  # of one that failed the model is told no more than the error
            self.found += blocks_of(event.result, MOST_OF_A_RESULT) or ()

    def kept(self, event: Event, agent: AgentRef, internal: bool) -> None:
        """The event is on disk: only now does it count."""
        match event:
            case k.Message():
                self._answered(event, agent)
            case k.ToolUse():
                self._called(event, agent, internal)
            case k.AgentChanged():
                self.agent = agent  # the event is from the agent that takes over
            case k.ToolResult():
                self.open_calls.pop(event.tool_use_id, None)
                self._owes_answer = True
                self._found_out(event)
            case k.ApprovalRequested():
                self.standing.approvals[event.tool_use_id] = ApprovalState(
                    approval_id=event.approval_id, args=event.args, args_hash=event.args_hash
                )
            case k.ApprovalResolved():
                self._decided(event)
            case k.TurnResumed():
                self.resumptions += 1
            case k.EnginePaused():
                self.paused = event
            case k.HistorySummarized():
                self._billed(event)

    def _called(self, call: k.ToolUse, agent: AgentRef, internal: bool) -> None:
        self.asked_tools.add(call.tool_use_id)
        self.open_calls[call.tool_use_id] = OpenCall(call=call, agent=agent, hidden=internal)
        if not internal:
            self.tools_used.append(call.tool_name)
        else:  # a hand-over: the other agent's earlier answer is old
            self.answers.pop(call.tool_name.removeprefix(HANDOVER), None)

    def _answered(self, message: k.Message, agent: AgentRef) -> None:
        drafts = self.drafts.items()
        self.drafts = {key: d for key, d in drafts if d.message_id != message.message_id}
        self.answers[agent.id] = message
        self.message_ids.add(message.message_id)
        self.texts.append(message.content)
        self.last_message, self._owes_answer = message, False
        self.found += [b for b in message.blocks if b["type"] == "web_search_tool_result"]
        self._billed(message)

    def _billed(self, call: k.Message | k.HistorySummarized) -> None:
        self.usage += call.token_usage
        self.costs.append(call.cost_usd)

    def _decided(self, event: k.ApprovalResolved) -> None:
        for tool_use_id, approval in self.standing.approvals.items():
            if approval.approval_id == event.approval_id:
                self.standing.approvals[tool_use_id] = ApprovalState(
                    approval_id=approval.approval_id,
                    args=approval.args if event.args is UNSET else event.args,
                    args_hash=event.args_hash,
                    outcome=event.outcome,
                    reason=event.reason,
                    edited=event.args is not UNSET,
                )


def resumed(turn: Turn, kept: Sequence[Stamped]) -> TurnState:
    """The state of a turn, rebuilt from its kept events. Of an erased one only the place counts."""
    shown = [entry.envelope.index + 1 for entry in kept if entry.envelope.index is not None]
    state = TurnState(turn, kept[0].envelope.agent, index=max(shown))
    for entry in kept:
        state.position = entry.position
        if not entry.erased:
            state.kept(entry.event, entry.envelope.agent, entry.envelope.internal)
    return state


def _bare(citation: Citation) -> Citation:
    return {name: value for name, value in citation.items() if name != "blockIndex"}


def new_id() -> str:
    """A UUID of the time and of chance: rows that are made one after the other lie side by side."""
    # RFC 9562, section 5.7: 48 bits are milliseconds.
    return _uuid(f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}", 7)


def _named_id(name: str) -> str:
    """The same UUID for the same name, as `uuid.uuid5` makes it of a URL."""
    return _uuid(hashlib.sha1(_URLS + name.encode(), usedforsecurity=False).hexdigest(), 5)


def _uuid(bits: str, version: int) -> str:
    # RFC 9562, section 4: a version, and a variant of 8, 9, a or b. Through `uuid.UUID` it takes
    # three times as long, and every turn has three of them.
    third, fourth = f"{version}{bits[13:16]}", f"{_VARIANT[bits[16]]}{bits[17:20]}"
    return f"{bits[:8]}-{bits[8:12]}-{third}-{fourth}-{bits[20:32]}"


def new_message_id() -> str:
    """An id for a message whose provider gave none, or one that is taken."""
    return f"msg_turnlog_{secrets.token_hex(12)}"


def _stem() -> str:
    # RFC 9562, section 5.8: version 8 leaves the bits to us.
    bits = os.urandom(9).hex()
    return f"{bits[:8]}-{bits[8:12]}-8{bits[12:15]}-a{bits[15:18]}"
