"""Conversations over HTTP: made, listed, looked at, changed."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from turnlog.errors import BadInput
from turnlog.ports import Session
from turnlog.transports.http.request import UserRequest, json_response

UNTITLED = "New session"  # until its first question names it
MOST_SEARCH = 200  # characters
ORDERS = ("created", "activity")  # of the list; the first one unless another is asked for


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


async def create(request: UserRequest) -> Response:
    wishes = msgspec.structs.asdict(await request.body(NewSession))
    session = await request.backend.create_session(request.user, **wishes)
    return json_response(shown(session), 201)


async def find(request: UserRequest) -> Response:
    """The user's sessions, page by page."""
    limit = request.number("limit", 50, least=1, most=200)
    order = request.query("order") or ORDERS[0]
    if order not in ORDERS:
        raise BadInput(f"'order' must be one of {', '.join(ORDERS)}.")
    by_activity = order == "activity"
    sessions = await (_active if by_activity else _created)(request, limit + 1)
    more = len(sessions) > limit
    page = sessions[:limit]
    cursor = (_place(page[-1]) if by_activity else page[-1].id) if more else None
    answer: dict[str, Any] = {"sessions": [shown(session) for session in page], "cursor": cursor}
    wanted = _wanted(request)
    if wanted["search"] and request.cursor() is None:  # the first page tells it for all
        reaches = request.backend.store.reaches_all(request.user.id, archived=wanted["archived"])
        answer["searchedAll"] = await reaches
    return json_response(answer)


async def _created(request: UserRequest, limit: int) -> list[Session]:
    return await request.backend.store.list_sessions(
        request.user.id, limit=limit, after=request.cursor(), **_wanted(request)
    )


async def _active(request: UserRequest, limit: int) -> list[Session]:
    """The cursor is a place, not a session: where a session stands changes."""
    below = None
    if (cursor := request.cursor()) is not None:
        at, divided, session_id = cursor.partition("_")
        if not divided:
            raise BadInput("This 'cursor' is not one of a list by activity. Begin without one.")
        below = at, session_id
    return await request.backend.store.list_active_sessions(
        request.user.id, limit=limit, below=below, **_wanted(request)
    )


def _place(session: Session) -> str:
    return f"{session.active_at}_{session.id}"


def _wanted(request: UserRequest) -> dict[str, Any]:
    search = request.text("search", most=MOST_SEARCH)
    return {"archived": request.flag("archived"), "search": search}


async def get(request: UserRequest) -> Response:
    store = request.backend.store
    session = await store.get_session(request.user.id, request.id("session_id"))
    return json_response(shown(session))


async def change(request: UserRequest) -> Response:
    fields = msgspec.structs.asdict(await request.body(Change))
    changes = {name: value for name, value in fields.items() if value is not UNSET}
    session = await request.backend.change_session(
        request.user.id, request.id("session_id"), **changes
    )
    return json_response(shown(session))


async def set_thinking(request: UserRequest) -> Response:
    wish = await request.body(ThinkingChange)
    changes: dict[str, Any] = {"thinking_enabled": wish.enabled}
    if wish.budget_tokens is not None:
        changes["thinking_budget"] = wish.budget_tokens
    session = await request.backend.change_session(
        request.user.id, request.id("session_id"), **changes
    )
    thinking = {"enabled": session.thinking_enabled, "budgetTokens": session.thinking_budget}
    return json_response({"success": True, **thinking})


def shown(session: Session) -> dict[str, Any]:
    """A session as a client sees it."""
    return {
        "id": session.id,
        "title": session.title or UNTITLED,
        "agent": session.agent_id,
        "engine": session.engine,
        "createdAt": session.created_at,
        "lastActivityAt": session.active_at,
        "state": session.state,
        "turnId": session.turn_id,
        "archived": session.archived,
        "thinking": {
            "enabled": session.thinking_enabled,
            "budgetTokens": session.thinking_budget,
        },
        "webSearch": session.web_search,
    }
