"""What people decide, over HTTP: approvals, and writes that are in doubt."""

from typing import Any

import msgspec
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Decision
from turnlog.transports.http.request import UserRequest, json_response

STATUSES = ("pending", "approved", "rejected", "expired", "withdrawn")


class Answer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/approvals/{id}; `args` where a person changes what may run."""

    approved: bool
    reason: str | None = None
    args: dict[str, Any] | None = None


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
    page = await store.list_approvals(request.user.id, status=status, limit=limit)
    return json_response({"approvals": page})


async def answer(request: UserRequest) -> Response:
    decision = Decision(**msgspec.structs.asdict(await request.body(Answer)))
    approval = await request.backend.answer_approval(
        request.user.id, request.id("approval_id"), decision
    )
    return json_response(approval)


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
