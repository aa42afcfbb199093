"""The events as the wire has them. Written by `make docs`: do not edit."""

from typing import Any, Literal, NotRequired, TypedDict


class AgentRef(TypedDict):
    id: str
    name: str


class Span(TypedDict):
    blockIndex: int
    start: int
    end: int


class TokenUsage(TypedDict):
    inputTokens: int
    outputTokens: int
    cacheWriteTokens: int
    cacheReadTokens: int
    thinkingTokens: int | None
    totalTokens: int


class Envelope(TypedDict):
    eventId: str
    sessionId: str
    turnId: str
    timestamp: str
    eventIndex: int | None
    persistenceState: str
    sequenceNumber: NotRequired[int]
    agent: AgentRef
    cursor: str


class SessionStart(Envelope):
    """Sent to a client that joins: the session and its settings."""

    type: Literal["session_start"]
    session: dict[str, Any]
    settings: dict[str, Any]


class UserMessageSent(Envelope):
    """The user asked. Always the first event of a turn, on disk before the model is called."""

    type: Literal["user_message_sent"]
    messageId: str
    content: str
    files: list[dict[str, Any]]


class ThinkingStart(Envelope):
    """The model began to think."""

    type: Literal["thinking_start"]
    messageId: str
    blockIndex: int


class ThinkingChunk(Envelope):
    """A piece of a thought. Adjacent pieces of one block may be joined."""

    type: Literal["thinking_chunk"]
    messageId: str
    content: str
    blockIndex: int


class ThinkingComplete(Envelope):
    """The thought is whole. The live signal; `thinking` is what is kept."""

    type: Literal["thinking_complete"]
    messageId: str
    content: str
    blockIndex: int
    duration: int


class Thinking(Envelope):
    """A thought, kept with the signature that proves it to the API."""

    type: Literal["thinking"]
    messageId: str
    content: str
    blockIndex: int
    duration: int | None
    thinkingTokens: NotRequired[int]
    redacted: bool


class MessageChunk(Envelope):
    """A piece of the answer. Adjacent pieces of one block may be joined."""

    type: Literal["message_chunk"]
    messageId: str
    content: str
    blockIndex: int
    citations: NotRequired[list[dict[str, Any]]]


class CitationsFound(Envelope):
    """The answer cites sources. The kept `message` holds the same citations."""

    type: Literal["citations_found"]
    messageId: str
    count: int
    citations: list[dict[str, Any]]


class Message(Envelope):
    """One model call's answer, whole: its text equals the chunks joined."""

    type: Literal["message"]
    messageId: str
    stopReason: str
    model: str
    tokenUsage: TokenUsage
    role: str
    costUsd: float | None
    blocks: list[Span]
    content: str
    citations: list[dict[str, Any]]
    stopDetails: NotRequired[Any]


class ToolUse(Envelope):
    """The model asked for a tool. Exactly one ToolResult with the same id follows."""

    type: Literal["tool_use"]
    toolUseId: str
    toolName: str
    args: dict[str, Any]


class ApprovalRequested(Envelope):
    """A person must allow this call before it runs. The turn waits, however long."""

    type: Literal["approval_requested"]
    approvalId: str
    toolUseId: str
    toolName: str
    args: dict[str, Any]
    description: str
    expiresAt: str
    mayDecide: str
    costSoFarUsd: float | None


class ApprovalResolved(Envelope):
    """A person decided; or nobody did in time, or the question was withdrawn."""

    type: Literal["approval_resolved"]
    approvalId: str
    approved: bool
    decidedBy: str
    reason: str | None
    args: NotRequired[dict[str, Any]]


class ToolResult(Envelope):
    """The tool answered, failed, was refused or was cut off: its one and only result."""

    type: Literal["tool_result"]
    toolUseId: str
    toolName: str
    result: Any
    success: bool
    duration: int
    error: NotRequired[str]
    inDoubt: NotRequired[bool]


AgentChanged = TypedDict(
    "AgentChanged",
    {
        "type": Literal["agent_changed"],
        "eventId": str,
        "sessionId": str,
        "turnId": str,
        "timestamp": str,
        "eventIndex": int | None,
        "persistenceState": str,
        "sequenceNumber": NotRequired[int],
        "agent": AgentRef,
        "cursor": str,
        "from": str,
        "to": str,
    },
)


class Complete(Envelope):
    """The turn is over. Always the last event, unless an error ended it."""

    type: Literal["complete"]
    reason: str
    stopReason: str
    tokenUsage: TokenUsage
    model: str
    toolsUsed: list[str]
    costUsd: float | None


class Error(Envelope):
    """The turn failed, and why. Nothing follows; the user's message stays."""

    type: Literal["error"]
    error: str
    code: str
    retryable: bool


class ResyncRequired(Envelope):
    """The client's cursor is too old: reload, then join with the new one."""

    type: Literal["resync_required"]
    why: str


Event = (
    SessionStart
    | UserMessageSent
    | ThinkingStart
    | ThinkingChunk
    | ThinkingComplete
    | Thinking
    | MessageChunk
    | CitationsFound
    | Message
    | ToolUse
    | ApprovalRequested
    | ApprovalResolved
    | ToolResult
    | AgentChanged
    | Complete
    | Error
    | ResyncRequired
)
