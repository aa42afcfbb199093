"""What people decide, over HTTP: approvals, and writes that are in doubt."""

from decimal import Decimal
from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.events.base import Value
from turnlog.ports import Approval, Decision, User
from turnlog.transports.http.request import UserRequest, json_response

STATUSES = ("pending", "approved", "rejected", "expired", "withdrawn")


class Answer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/approvals/{id}; `args` where a person changes what may run."""

    approved: bool
    reason: str | None = None
    args: dict[str, Any] | None = None


class ForDecider(Value, frozen=True, kw_only=True):
    """An approval as somebody sees it who is not its asker."""

    id: str
    tool_name: str
    args: dict[str, Any]
    description: str
    created_at: str
    expires_at: str
    status: str
    asked_by: str
    may_decide: str
    cost_so_far_usd: Decimal | None
    decided_by: str | None
    decided_at: str | None
    reason: str | None


class Finding(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/sessions/{id}/doubts/{tool_use_id}: what became of the call."""

    happened: bool
    note: str | None = None


async def approvals(request: UserRequest) -> Response:
    status = request.query("status")
    if status is not None and status not in STATUSES:
        raise BadInput(f"'status' must be one of {', '.join(STATUSES)}, not {status!r}.")
    limit = request.number("limit", 100, least=1, most=1000)
    store = request.backend.store
    page = await store.approvals_to_decide(request.user, status=status, limit=limit)
    return json_response({"approvals": [_shown(each, request.user) for each in page]})


async def answer(request: UserRequest) -> Response:
    decision = Decision(**msgspec.structs.asdict(await request.body(Answer)))
    approval = await request.backend.answer_approval(
        request.user, request.id("approval_id"), decision
    )
    return json_response(_shown(approval, request.user))


def _shown(approval: Approval, user: User) -> Approval | ForDecider:
    """Who decides for another user learns what is to be decided, and not where it stands."""
    if approval.asked_by == user.id:
        return approval
    fields = ForDecider.__struct_fields__
    return ForDecider(**{name: getattr(approval, name) for name in fields})


async def doubts(request: UserRequest) -> Response:
    return json_response({"doubts": await request.backend.store.list_doubts(request.user.id)})


async def settle(request: UserRequest) -> Response:
    finding = await request.body(Finding)
    await request.backend.settle_doubt(
        request.user.id,
        request.id("session_id"),
        request.id("tool_use_id"),
        happened=finding.happened,
        note=finding.note,
    )
    return json_response({"success": True})
