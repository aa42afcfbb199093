"""What an agent can do: its tools, the approvals of their calls, and tools offered to others."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from turnlog.events.base import Event
from turnlog.events.kinds import ToolUse


class ToolStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that may write is about to run. Not an event: it is on disk before the tool runs."""

    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    args_hash: str
    idempotency_key: str


ToolOutput = Event | ToolStarted
CLIENT_RESULT = "__result__"  # in the arguments that answer a call which the client runs
NOT_THE_CLIENTS = "This tool is run by the server: allow it or reject it. Its result is not yours."


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ApprovalState(msgspec.Struct, frozen=True, kw_only=True):
    """How the approval of a call stands."""

    approval_id: str
    args: dict[str, Any]  # that may run
    args_hash: str
    outcome: str = "pending"  # approved | rejected | expired | withdrawn
    reason: str | None = None
    edited: bool = False


@dataclass
class Standing:
    """How the calls of a turn stand, as far as the log knows."""

    approvals: dict[str, ApprovalState] = field(default_factory=dict)  # by tool_use_id
    started: set[str] = field(default_factory=set)  # writes that have begun
    unseen: dict[str, ToolStarted] = field(default_factory=dict)  # that may have: see GraphEngine
    brought: Sequence[dict[str, Any]] | None = None  # tools of the client; None: see the question

    def pending(self, calls: Collection[str]) -> list[str]:
        """Those of the calls that a person has not decided yet."""
        known = [call for call in calls if call in self.approvals]
        return [call for call in known if self.approvals[call].outcome == "pending"]


class ToolBox(Protocol):
    """The tools of one turn, acting for its user."""

    @property
    def specs(self) -> Sequence[ToolSpec]: ...

    def run(self, calls: Sequence[ToolUse]) -> AsyncGenerator[Sequence[ToolOutput], None]:
        """Run the calls at once; yield what happens.

        Each call is answered by one ToolResult, unless a person must decide first: then an
        ApprovalRequested is among the events, and the call is given again when it is decided.
        A batch must be on disk before the next is asked for: a write never begins before its
        ToolStarted is kept. It never raises for what a tool did.
        """
        ...

    def check(self, call: ToolUse) -> str:
        """The call in words, with arguments that a person has changed.

        Raises ToolError where they do not fit the tool, or say who acts.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool that others may use, as they are told of it."""

    spec: ToolSpec
    title: str
    output_schema: dict[str, Any] | None  # None: whatever it returns
    writes: bool
    destroys: bool  # whether what was there before may be gone
    repeatable: bool  # whether the same call again changes nothing more
    users: frozenset[str] = frozenset()  # who may use it; nobody named: everybody


class Offer(Protocol):
    """Tools that other programs may use, acting for the user who asks."""

    @property
    def tools(self) -> Sequence[OfferedTool]: ...

    async def call(self, user_id: str, name: str, arguments: dict[str, Any], key: str) -> Any:
        """What one of `tools` returns. The same `key` again is the same call.

        Raises a TurnlogError with a sentence for whoever called.
        """
        ...
