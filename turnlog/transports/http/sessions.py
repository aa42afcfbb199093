"""Conversations over HTTP: made, listed, looked at, changed."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from turnlog.ports import Backend, Session
from turnlog.transports.auth import Auth
from turnlog.transports.http.request import (
    body,
    flag,
    json_response,
    number,
)


class NewSession(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/sessions"""

    title: str | None = None
    agent: str | None = None
    engine: str | None = None


class Change(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """PATCH /api/sessions/{id}"""

    title: str | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    web_search: bool | UnsetType = UNSET


class ThinkingChange(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """PATCH /api/sessions/{id}/thinking"""

    enabled: bool
    budget_tokens: int | None = None


class SessionRoutes:
    """Whatever is asked is asked as the user of the token."""

    def __init__(self, backend: Backend, auth: Auth) -> None:
        self._backend = backend
        self._auth = auth

    async def create(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        asked = await body(request, NewSession)
        made = await self._backend.create_session(user.id, **msgspec.structs.asdict(asked))
        return json_response(shown(made), 201)

    async def list(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        limit = number(request, "limit", 50, least=1, most=200)
        found = await self._backend.store.list_sessions(
            user.id,
            limit=limit + 1,
            after=request.query_params.get("cursor"),
            archived=flag(request, "archived"),
        )
        more = found[limit - 1].id if len(found) > limit else None
        return json_response({"sessions": [shown(s) for s in found[:limit]], "cursor": more})

    async def get(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        found = await self._backend.store.get_session(user.id, request.path_params["session_id"])
        return json_response(shown(found))

    async def change(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        asked = await body(request, Change)
        changed = await self._backend.change_session(
            user.id, request.path_params["session_id"], **_given(asked)
        )
        return json_response(shown(changed))

    async def set_thinking(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        asked = await body(request, ThinkingChange)
        changes: dict[str, Any] = {"thinking_enabled": asked.enabled}
        if asked.budget_tokens is not None:
            changes["thinking_budget"] = asked.budget_tokens
        changed = await self._backend.change_session(
            user.id, request.path_params["session_id"], **changes
        )
        told = {"enabled": changed.thinking_enabled, "budgetTokens": changed.thinking_budget}
        return json_response({"success": True, **told})


def shown(session: Session) -> dict[str, Any]:
    """A session as a client sees it."""
    return {
        "id": session.id,
        "title": session.title,
        "agent": session.agent_id,
        "createdAt": session.created_at,
        "archived": session.archived,
        "thinking": {
            "enabled": session.thinking_enabled,
            "budgetTokens": session.thinking_budget,
        },
        "webSearch": session.web_search,
    }


def _given(change: Change) -> dict[str, Any]:
    fields = msgspec.structs.asdict(change)
    return {name: value for name, value in fields.items() if value is not UNSET}
