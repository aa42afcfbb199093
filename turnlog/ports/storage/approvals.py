"""What people must decide: approvals, and writes that are in doubt."""

from collections.abc import Collection
from decimal import Decimal
from typing import Any, Protocol

from turnlog.events.base import Value
from turnlog.ports.user import User


class Approval(Value, frozen=True, kw_only=True):
    """A call that a person must allow, and what became of the question."""

    id: str
    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    args_hash: str
    description: str
    created_at: str
    expires_at: str
    status: str  # pending | approved | rejected | expired | withdrawn
    asked_by: str  # the user whose turn waits
    may_decide: str = "asker"  # asker | others | role:NAME | others:NAME
    cost_so_far_usd: Decimal | None = None  # of the turn, until it asked; None: unknown
    decided_by: str | None = None
    decided_at: str | None = None
    reason: str | None = None


class Decision(Value, frozen=True, kw_only=True):
    """A person's answer to an approval; `args` where they changed what may run."""

    approved: bool
    reason: str | None = None
    args: dict[str, Any] | None = None


class ToolRun(Value, frozen=True, kw_only=True):
    """A write that began, and what is known of its effect."""

    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    idempotency_key: str
    started_at: str
    status: str  # executing | done | failed | in_doubt | happened | did_not_happen
    decided_by: str | None = None
    decided_at: str | None = None
    note: str | None = None


class Approvals(Protocol):
    """What people must decide: approvals, and writes that are in doubt.

    Each is its user's. Where others may decide, they find it too.
    """

    async def get_approval(self, user_id: str, approval_id: str) -> Approval:
        """Raises NotFound for an unknown one and for someone else's alike."""
        ...

    async def list_approvals(
        self, user_id: str, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """The user's, oldest first."""
        ...

    async def approvals_of_calls(
        self, user_id: str, tool_use_ids: Collection[str]
    ) -> list[Approval]:
        """The user's for these calls, open or not, in whatever order and however many."""
        ...

    async def approval_to_decide(self, user: User, approval_id: str) -> Approval:
        """Anybody's, if this user may decide on it.

        Raises NotFound where not, and Forbidden where the user asked for it and others decide.
        """
        ...

    async def approvals_to_decide(
        self, user: User, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """Those that the user may decide on, oldest first. Of other users' turns only open ones,
        and those that this user has decided.
        """
        ...

    async def due_approvals(self, now: str) -> list[tuple[str, Approval]]:
        """Open ones of everybody that expire up to `now`, each with its user."""
        ...

    async def next_expiry(self) -> str | None:
        """When the first of all open approvals expires."""
        ...

    async def list_doubts(self, user_id: str) -> list[ToolRun]:
        """The user's writes of which nobody knows whether they took effect, oldest first."""
        ...
