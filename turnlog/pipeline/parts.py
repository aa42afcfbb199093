"""What a turn works with: the session, the team, who answers, where it is kept and shown."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from turnlog.errors import AgentGone
from turnlog.events.base import Envelope
from turnlog.pipeline.admission import Limits
from turnlog.pipeline.context.windows import Windows
from turnlog.pipeline.execution import ClaimId
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import (
    NO_ATTACHMENTS,
    NO_GUARD,
    NOBODY,
    Agent,
    Attachments,
    Batch,
    CallGuard,
    Engine,
    Model,
    Rate,
    Session,
    Show,
    Standing,
    Store,
    Summarizer,
    ToolBox,
    Turn,
    no_price,
)


class Pacer(Protocol):
    """Holds chunks back for a moment, so that those which come together are shown together."""

    def takes(self, batch: Batch) -> bool: ...
    def add(self, batch: Batch) -> Literal[True]: ...
    def flush(self) -> None: ...


class DraftKeeper(Protocol):
    """Saves what was shown of unfinished answers."""

    def watch(self) -> None: ...
    async def close(self) -> None: ...


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn works with. Many turns share these, and no turn changes them."""

    session: Session
    team: Mapping[str, Agent]
    engine: Model | Engine
    store: Store
    limits: Limits
    show: Show
    tools_for: Callable[[Agent, Turn, Standing], Awaitable[ToolBox]]
    claim_id: ClaimId
    pacer_for: Callable[[Callable[[Batch], None]], Pacer]
    drafts_for: Callable[[TurnState], DraftKeeper]
    guard_for: Callable[[Turn], CallGuard] = lambda turn: NO_GUARD
    rate: Rate = no_price  # what a model call costs
    note: Callable[[Sequence[Envelope]], None] = lambda placed: None  # what was stored, for logs
    over: Callable[[TurnState], None] = lambda state: None  # its end is stored, and was shown
    files: Attachments = NO_ATTACHMENTS
    summarizer: Summarizer = NOBODY  # of what leaves a long conversation's window
    windows: Windows | None = None  # what agents were told before; None: it is not remembered

    @property
    def agent(self) -> Agent:
        """The agent that is asked first."""
        return self.member(self.session.agent_id)

    def member(self, agent_id: str) -> Agent:
        """The agent. Raises AgentGone if this server does not have it."""
        if agent_id not in self.team:
            raise AgentGone(f"agent {agent_id!r} of this turn")
        return self.team[agent_id]


class PartsFor(Protocol):
    """Gathers them. `roles` are those of the asker; None: the agents of all roles are there."""

    def __call__(self, session: Session, show: Show, roles: Sequence[str] | None = ()) -> Parts: ...
