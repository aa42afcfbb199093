"""What people decide, over HTTP: approvals, and writes that are in doubt."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Backend, Decision
from turnlog.transports.auth import Auth
from turnlog.transports.http.request import body, json_response, number

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


class DecisionRoutes:
    """Whatever is asked is asked as the user of the token."""

    def __init__(self, backend: Backend, auth: Auth) -> None:
        self._backend = backend
        self._auth = auth

    async def approvals(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        status = request.query_params.get("status")
        if status is not None and status not in STATUSES:
            raise BadInput(f"'status' must be one of {', '.join(STATUSES)}, not {status!r}.")
        limit = number(request, "limit", 100, least=1, most=1000)
        found = await self._backend.store.list_approvals(user.id, status=status, limit=limit)
        return json_response({"approvals": found})

    async def answer(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        asked = await body(request, Answer)
        decision = Decision(**msgspec.structs.asdict(asked))
        approval_id = request.path_params["approval_id"]
        decided = await self._backend.answer_approval(user.id, approval_id, decision)
        return json_response(decided)

    async def doubts(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        return json_response({"doubts": await self._backend.store.list_doubts(user.id)})

    async def settle(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        found = await body(request, Finding)
        await self._backend.settle_doubt(
            user.id,
            request.path_params["session_id"],
            request.path_params["tool_use_id"],
            happened=found.happened,
            note=found.note,
        )
        return json_response({"success": True})
