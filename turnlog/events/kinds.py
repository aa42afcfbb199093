"""The vocabulary: one small class per event. The names on the wire are frozen by a test.

`kept` events are written to the log before anybody sees them; the others are shown and
forgotten, because a kept event that follows holds all they said.
"""

from decimal import Decimal
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from turnlog.events.base import Event
from turnlog.events.content import (
    Block,
    Citation,
    Sampling,
    Span,
    TokenUsage,
    citations_of,
    spans_of,
    text_of,
)

# isort: off
from turnlog.events.records import (
    BudgetExceeded as BudgetExceeded,
    BudgetWarned as BudgetWarned,
    ClaimUnfounded as ClaimUnfounded,
    FeedbackGiven as FeedbackGiven,
    DecisionRefused as DecisionRefused,
    EnginePaused as EnginePaused,
    HistoryAnchored as HistoryAnchored,
    HistoryRepaired as HistoryRepaired,
    HistorySummarized as HistorySummarized,
    Internal as Internal,
    SummaryFailed as SummaryFailed,
    ToolSettled as ToolSettled,
    TurnResumed as TurnResumed,
    WebSearched as WebSearched,
)
# isort: on


class SessionStart(Event, frozen=True, kw_only=True, tag="session_start"):
    """Sent to a client that joins: the session and its settings."""

    session: dict[str, Any]
    settings: dict[str, Any]


class UserMessageSent(Event, frozen=True, kw_only=True, tag="user_message_sent"):
    """The user asked. Always the first event of a turn, on disk before the model is called."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"
    log_only: ClassVar[frozenset[str]] = frozenset(
        {"clientTools", "enableThinking", "requestId", "fileDetails", "roles", "sampling",
         "thinkingBudget"}
    )  # fmt: skip

    message_id: str
    content: str
    files: list[dict[str, Any]] = []  # id, name, mediaType, size, sha256 of each
    file_details: list[dict[str, Any]] = []  # of each, what decides how it is told
    enable_thinking: bool | None = None  # what the message itself wished for
    thinking_budget: int | None = None
    sampling: Sampling | UnsetType = UNSET
    client_tools: list[dict[str, Any]] = []  # that the client runs in this turn
    request_id: str | None | UnsetType = UNSET  # that the client gave; UNSET: older than this field
    roles: list[str] | UnsetType = UNSET  # of the asker, where agents are for roles


class ThinkingStart(Event, frozen=True, kw_only=True, tag="thinking_start"):
    """The model began to think."""

    message_id: str
    block_index: int


class ThinkingChunk(Event, frozen=True, kw_only=True, tag="thinking_chunk"):
    """A piece of a thought. Adjacent pieces of one block may be joined."""

    message_id: str
    content: str
    block_index: int


class ThinkingComplete(Event, frozen=True, kw_only=True, tag="thinking_complete"):
    """The thought is whole. The live signal; `thinking` is what is kept."""

    log_only: ClassVar[frozenset[str]] = frozenset({"signature"})

    message_id: str
    content: str
    block_index: int
    duration: int  # milliseconds
    signature: str = ""  # for protocols that show it


class Thinking(Event, frozen=True, kw_only=True, tag="thinking"):
    """A thought, kept with the signature that proves it to the API."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"
    log_only: ClassVar[frozenset[str]] = frozenset({"signature"})

    message_id: str
    content: str
    block_index: int = 0
    duration: int | None = None  # milliseconds; None where nobody measured it
    thinking_tokens: int | UnsetType = UNSET  # where it is the only thought of its answer
    signature: str = ""
    redacted: bool = False


class MessageChunk(Event, frozen=True, kw_only=True, tag="message_chunk"):
    """A piece of the answer. Adjacent pieces of one block may be joined."""

    message_id: str
    content: str
    block_index: int
    citations: list[Citation] | UnsetType = UNSET


class CitationsFound(Event, frozen=True, kw_only=True, tag="citations_found"):
    """The answer cites sources. The kept `message` holds the same citations."""

    message_id: str
    count: int
    citations: list[Citation]


class Message(Event, frozen=True, kw_only=True, tag="message"):
    """One model call's answer, whole: its text equals the chunks joined.

    The log keeps the content blocks as the model sent them, because they go back to it
    unchanged; the wire shows their text, where each block stands in it, and the citations.
    """

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"
    log_only: ClassVar[frozenset[str]] = frozenset(
        {"blockIndexes", "cited", "costs", "details", "prefix", "reported"}
    )

    message_id: str
    blocks: list[Block]
    cited: list[dict[str, Any]] = []  # of each citation: file and page, and whether it holds
    block_indexes: list[int] = []  # of an answer that was cut off; else blocks are counted
    stop_reason: str
    model: str
    token_usage: TokenUsage
    role: str = "assistant"
    cost_usd: Decimal | None = None  # None: unknown, which is not zero
    costs: list[Decimal | None] = []  # of each part of `reported` (events/usage.py); adds up
    reported: dict[str, Any] = {}  # the usage object, as the API sent it
    details: dict[str, Any] = {}  # other fields of the API's message, as sent
    prefix: str = ""  # which prompt, tools and model it was said after: a fingerprint

    @property
    def content(self) -> str:
        return text_of(self.blocks)

    @property
    def cites(self) -> bool:
        """Whether it has any citation. Most answers have none."""
        return bool([block for block in self.blocks if block.get("citations")])

    @property
    def spans(self) -> list[Span]:
        """Where each text block stands in `content`."""
        return spans_of(self.blocks, self.block_indexes)

    @property
    def citations(self) -> list[Citation]:
        return citations_of(self.blocks, self.spans, self.cited) if self.cites else []

    def shown(self) -> dict[str, Any]:
        spans = self.spans
        shown = super().shown() | {
            "content": self.content,
            "blocks": [span._asdict() for span in spans],
            "citations": citations_of(self.blocks, spans, self.cited) if self.cites else [],
        }
        if refused := self.details.get("stop_details"):  # why the model would not answer
            shown["stopDetails"] = refused
        return shown


class ToolUse(Event, frozen=True, kw_only=True, tag="tool_use"):
    """The model asked for a tool. Exactly one ToolResult with the same id follows."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"

    tool_use_id: str
    tool_name: str
    args: dict[str, Any]


class ApprovalRequested(Event, frozen=True, kw_only=True, tag="approval_requested"):
    """A person must allow this call before it runs. The turn waits, however long."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "pending"
    log_only: ClassVar[frozenset[str]] = frozenset({"argsHash"})

    approval_id: str
    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    description: str
    expires_at: str
    may_decide: str = "asker"  # asker | others | role:NAME | others:NAME
    cost_so_far_usd: Decimal | None = None  # of the turn; None: unknown
    args_hash: str = ""


class ApprovalResolved(Event, frozen=True, kw_only=True, tag="approval_resolved"):
    """A person decided; or nobody did in time, or the question was withdrawn."""

    kept: ClassVar[bool] = True
    log_only: ClassVar[frozenset[str]] = frozenset({"outcome", "description", "argsHash", "toldAs"})

    approval_id: str
    approved: bool
    decided_by: str
    outcome: str  # approved | rejected | expired | withdrawn
    reason: str | None = None
    args: dict[str, Any] | UnsetType = UNSET  # where the person changed them
    description: str | UnsetType = UNSET  # of the call with those
    args_hash: str = ""  # of the arguments that may run
    told_as: str | UnsetType = UNSET  # which answer it is, where another process was given it


class ToolResult(Event, frozen=True, kw_only=True, tag="tool_result"):
    """The tool answered, failed, was refused or was cut off: its one and only result."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"
    log_only: ClassVar[frozenset[str]] = frozenset({"note", "began"})

    tool_use_id: str
    tool_name: str
    result: Any
    success: bool
    duration: int  # milliseconds
    error: str | UnsetType = UNSET
    in_doubt: bool = False  # a write that began, and nobody knows whether it took effect
    note: str | None = None  # for the model alone
    began: bool = False  # of what may write: its beginning is on disk, in `tool_runs`

    def shown(self) -> dict[str, Any]:
        fields = super().shown()
        if not self.in_doubt:  # said only where it is so
            del fields["inDoubt"]
        return fields


class AgentChanged(Event, frozen=True, kw_only=True, tag="agent_changed"):
    """Another agent took over. Shown as a signal; its record in the log is internal."""

    log_only: ClassVar[frozenset[str]] = frozenset({"reason"})
    audited: ClassVar[frozenset[str]] = frozenset({"reason"})

    from_: str = msgspec.field(name="from")
    to: str
    reason: str = ""  # why the one who spoke handed over


class Complete(Event, frozen=True, kw_only=True, tag="complete"):
    """The turn is over. Always the last event, unless an error ended it."""

    reason: str
    stop_reason: str
    token_usage: TokenUsage
    model: str
    tools_used: list[str]
    cost_usd: Decimal | None = None


class Error(Event, frozen=True, kw_only=True, tag="error"):
    """The turn failed, and why. Nothing follows; the user's message stays."""

    kept: ClassVar[bool] = True
    shown_as: ClassVar[str] = "persisted"

    error: str
    code: str
    retryable: bool


ENDINGS = (Complete, Error)  # of a turn


class ResyncRequired(Event, frozen=True, kw_only=True, tag="resync_required"):
    """The client's cursor is too old: reload, then join with the new one."""

    why: str


KINDS: dict[str, type[Event]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (*Event.__subclasses__(), *Internal.__subclasses__())
    if kind is not Internal
}
