"""Who answers, with which tools: what an engine is given and what it says."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import ToolUse
from turnlog.ports.tools import ToolBox, ToolStarted


@dataclass(frozen=True)
class Agent:
    """Who answers: a prompt and the tools it may use."""

    id: str
    _: KW_ONLY
    prompt: str = ""
    tools: Sequence[Any] = ()  # made by @tool
    mcp: Sequence[Any] = ()  # McpServer: where it has more tools from
    name: str = ""
    model: str | None = None  # None: the server's
    approval: str | None = None  # always | never | writes, where a tool says nothing itself
    web_search: bool = False  # whether the model may search the web

    @property
    def ref(self) -> AgentRef:
        return AgentRef(id=self.id, name=self.name or self.id.replace("_", " ").title())


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What an engine is given: everything the model is told."""

    model: str
    system: str
    messages: list[dict[str, Any]]  # Messages API form, valid for the model
    max_tokens: int
    thinking_budget: int | None = None  # None: don't think
    max_calls: int = 50  # model calls in one turn, against loops without end
    open_calls: Sequence[ToolUse] = ()  # asked for at the end of `messages`: answered first
    searches: int | None = None  # web searches that are left; None: the model may not search
    container: str | None = None  # of the provider's own tools, to go back to


class CallStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The model began to answer. Not an event: it says what an unfinished answer would be."""

    message_id: str
    model: str
    reported: dict[str, Any]  # usage so far


Output = Event | CallStarted | ToolStarted


class Said(msgspec.Struct, frozen=True):
    """A batch of what an engine produced, and by which agent (None: the current one)."""

    outputs: Sequence[Output]
    agent: AgentRef | None = None


class Engine(Protocol):
    """Who answers. It translates a provider's stream into our events and decides nothing.

    Promises: ids are the provider's; a call yields CallStarted, its pieces, then
    `thinking`*, `message`, `tool_use`* together; it goes on only when a batch it yielded has
    been stored. Raises EngineFailed, and nothing else, for what the provider did.
    """

    def answer(self, ask: Ask, tools: ToolBox) -> AsyncGenerator[Said, None]: ...

    async def count(self, ask: Ask, tools: ToolBox) -> int:
        """How many tokens the model would be told. Raises EngineFailed."""
        ...

    async def open(self) -> None:
        """Get ready in the background; returns at once."""
        ...

    async def close(self) -> None: ...


Show = Callable[[Sequence[Stamped]], None]  # where a turn's events go, live
# Where a model call's bytes go, with its id if it got one. None: they are not kept.
KeepRaw = Callable[[str, list[bytes]], None] | None


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """How a turn ended; or that it waits for a person, who finds what to decide in `waiting`."""

    success: bool
    turn_id: str
    session_id: str
    error: str | None
    message_id: str | None
    usage: TokenUsage
    cost_usd: Decimal | None  # None: unknown
    events: list[Stamped]
    text: str = ""  # the answer, as the last message has it
    waiting: list[str] = field(default_factory=list)  # ids of open approvals
