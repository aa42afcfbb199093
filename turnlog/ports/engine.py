"""Who answers: agents, their team, and engines that run a team by themselves."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from turnlog.errors import ConfigError
from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.content import TokenUsage
from turnlog.events.handovers import HANDOVER
from turnlog.events.kinds import EnginePaused, Message, ToolUse
from turnlog.ports.consent import ApprovalRule, check_approver, check_rule
from turnlog.ports.guard import NO_GUARD, CallGuard
from turnlog.ports.model import CallStarted, Model, Prompt, not_straight
from turnlog.ports.storage.sessions import Session
from turnlog.ports.tools import Standing, ToolBox, ToolStarted
from turnlog.ports.user import is_role

if TYPE_CHECKING:
    from typing_extensions import TypeIs


@dataclass(frozen=True, kw_only=True)
class PromptContext:
    """For whom a prompt is made."""

    user_id: str
    session: Session
    deps: Any = None  # of the agent


PromptFunction = Callable[[PromptContext], str | Awaitable[str]]


@dataclass(frozen=True)
class Agent:
    """Who answers: a prompt, the tools it may use, and whom it may hand over to."""

    id: str
    _: KW_ONLY
    prompt: str | PromptFunction = ""  # or a function, asked once for each turn
    tools: Sequence[Any] = ()  # made by @tool
    mcp: Sequence[Any] = ()  # McpServer: where it has more tools from
    name: str = ""
    description: str = ""  # what it is good at: for other agents, and for people
    model: str | None = None  # None: the server's
    approval: ApprovalRule | None = None  # when to ask a person, where a tool says nothing itself
    approver: str | None = None  # and who may decide
    web_search: bool = False  # whether the model may search the web
    thinking: bool = True  # False: it does not think, whatever the session says
    hands_over_to: Sequence[str] = ()  # ids of agents
    budget: Any = None  # what it may spend: {"per": "day", "usd": 5}, as in [[budgets]]
    users: Sequence[str] = ()  # ids of the users who may use it
    roles: Sequence[str] = ()  # of users who may use it; neither: everybody may
    deps: Any = None  # what its tools and its prompt need: ToolContext.deps, PromptContext.deps
    output: Any = None  # a type: its answers are JSON of this, and `TurnResult.output` is one
    output_schema: Mapping[str, Any] | None = None  # made of `output` by create_app

    def __post_init__(self) -> None:
        """Raises ConfigError for a rule that nobody knows."""
        for name in ("users", "roles"):
            if isinstance(getattr(self, name), str):  # its letters would be users
                raise ConfigError(f"agent {self.id!r}: {name!r} must be a list.")
        if wrong := [role for role in self.roles if not is_role(role)]:
            raise ConfigError(f"agent {self.id!r}: {wrong[0]!r} cannot be a role.")
        check_rule(self.approval, f"agent {self.id!r}")
        check_approver(self.approver, f"agent {self.id!r}")

    @cached_property
    def ref(self) -> AgentRef:
        return AgentRef(id=self.id, name=self.name or self.id.replace("_", " ").title())

    @cached_property
    def tool_names(self) -> list[str]:
        """Those of its own tools. MCP servers and clients may bring more."""
        return [tool.name for tool in self.tools]

    @cached_property
    def handovers(self) -> dict[str, str]:
        """By the name of the tool, the agent that would take over."""
        return {handover_tool(agent_id): agent_id for agent_id in self.hands_over_to}


def handover_tool(agent_id: str) -> str:
    """The name of the tool by which another agent hands over to this one."""
    return f"{HANDOVER}{agent_id}"


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a turn: what it is told now, and with which tools it works."""

    agent: Agent
    prompt: Prompt
    tools: ToolBox
    records: Sequence[Event] = ()  # what is to be kept about how the prompt was made
    tool_ids: frozenset[str] = frozenset()  # of calls that were made before, by anybody
    known_only: bool = False  # blocks of unknown types are left out, because the model rejected one
    clean: Any = None  # how much of the prompt's history breaks no rule
    sources: Callable[[], Any] | None = None  # what the prompt has that can be cited


class Team(Protocol):
    """Those who may speak in a turn."""

    @property
    def agents(self) -> Mapping[str, Agent]: ...

    async def seat(self, agent_id: str, *, shorter: bool = False) -> Seat:
        """The agent with what it is told, as the log has it now.

        `shorter`: the model could not take in what it was told before.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    """A call that has no result yet, and who asked for it."""

    call: ToolUse
    agent: AgentRef
    hidden: bool = False  # it hands over to another agent


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What an engine is asked: who speaks, who else is there, and what there is to go on with."""

    speaker: str  # the id of the agent whose turn it is
    team: Team
    max_calls: int = 50  # model calls in one turn, against loops without end
    open_calls: Sequence[OpenCall] = ()  # of a turn that goes on: answered first
    answers: Mapping[str, Message] = field(default_factory=dict)  # the newest of each agent
    may_be_shorter: bool = True  # whether less may be told: not in mid-turn
    guard: CallGuard = NO_GUARD  # asked before and after each model call
    standing: Standing = field(default_factory=Standing)  # what people have decided
    paused: EnginePaused | None = None  # where this engine waits for people
    user_id: str = ""  # who asks
    session_id: str = ""
    # As that of a model: while the next batch is waited for, never while one is being taken.
    straight: Callable[["Batch"], bool] = not_straight


class SpeakerChanged(msgspec.Struct, frozen=True, kw_only=True):
    """From here on another agent speaks. Not an event: `agent_changed` is made of it."""

    to: AgentRef
    reason: str = ""


class CallFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The call will not be finished, and the turn goes on. Not an event."""


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is kept for the audit and not shown: what agents say to each other."""

    event: Event


Output = Event | CallStarted | CallFailed | ToolStarted | SpeakerChanged | Hidden


class Batch(msgspec.Struct, frozen=True):
    """What one agent produced at one moment of one call. No agent means the speaker."""

    outputs: Sequence[Output]
    agent: AgentRef | None = None
    call: str = ""  # tells calls apart that are under way at the same time
    ends: bool = False  # the turn is over with it: nothing follows


@runtime_checkable
class Engine(Protocol):
    """Runs the loop of a turn by itself: LangGraph, an agents SDK.

    Promises: each call has a name of its own in `Batch.call`; it yields CallStarted, its pieces,
    then `thinking`*, `message`, `tool_use`* together; the engine goes on only when a batch it
    yielded has been stored. Raises EngineFailed, and nothing else, for what the provider did.
    """

    def answer(self, ask: Ask) -> AsyncGenerator[Batch, None]: ...

    async def open(self) -> None:
        """Get ready in the background; returns at once."""
        ...

    async def close(self) -> None: ...


def owns_loop(answerer: Model | Engine) -> "TypeIs[Engine]":
    """Whether it runs the loop itself. Asked for each turn: isinstance takes ten times as long."""
    return hasattr(answerer, "answer")


Show = Callable[[Sequence[Stamped]], None]  # where a turn's events go, live


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
    events: Sequence[Any]  # each with `type`, `content` and the fields of its kind
    text: str = ""  # the answer, as the last message has it
    waiting: list[str] = field(default_factory=list)  # ids of open approvals
    output: Any = None  # the answer as a value, where the agent has an `output`
