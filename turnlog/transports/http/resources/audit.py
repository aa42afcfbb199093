"""For auditors: everybody's sessions and their logs, read only. Each read is kept first."""

import re

from starlette.responses import Response

from turnlog.errors import Forbidden, NotFound
from turnlog.events.clock import now
from turnlog.events.kinds import Message
from turnlog.ports import AuditRead, Store, User
from turnlog.transports.http.request import UserRequest, json_response
from turnlog.transports.http.resources.sessions import MOST_SEARCH, shown

MOST_USER = 200  # characters of a user's id
NUMBER = re.compile("[0-9]{1,18}", re.ASCII)  # of an event


async def sessions(request: UserRequest) -> Response:
    """Everybody's sessions, page by page."""
    user = request.text("user", most=MOST_USER) or None
    search = request.text("search", most=MOST_SEARCH)
    limit = request.number("limit", 50, least=1, most=200)
    store = request.backend.store
    await keep(store, request.user, "", f"sessions of {user or 'everybody'}")
    sessions = await store.audit.sessions(
        user_id=user, search=search, limit=limit + 1, after=request.cursor()
    )
    cursor = sessions[limit - 1].id if len(sessions) > limit else None
    page = [shown(session) | {"userId": session.user_id} for session in sessions[:limit]]
    return json_response({"sessions": page, "cursor": cursor})


async def reads(request: UserRequest) -> Response:
    """What auditors have read, newest first."""
    limit = request.number("limit", 100, least=1, most=1000)
    session_id = request.text("session", most=MOST_USER) or None
    reads = await request.backend.store.audit.reads(session_id=session_id, limit=limit)
    return json_response({"reads": reads})


async def raw(request: UserRequest) -> Response:
    """What the provider sent for one answer, where it was kept. For auditors, of anybody."""
    store, session_id, name = request.backend.store, request.id("session_id"), request.id("number")
    if not request.user.auditor:
        await store.get_session(request.user.id, session_id)  # someone else's is not found
        raise Forbidden("Raw answers are for auditors.")
    owner = await store.audit.owner(session_id)
    if not NUMBER.fullmatch(name):
        raise NotFound("The log has no event with such a number.")
    await keep(store, request.user, session_id, f"raw answer {name}")
    page = await store.read(owner, session_id, after=int(name) - 1, limit=1)
    event = page[0].envelope.event if page and page[0].seq == int(name) else None
    if not isinstance(event, Message):
        raise NotFound(f"Event {name} of this session is not an answer of a model.")
    body = await request.backend.raw.of(event.message_id, page[0].envelope.time)
    text = body.decode(errors="replace")
    return json_response({"messageId": event.message_id, "bytes": len(body), "body": text})


async def whose(request: UserRequest, what: str) -> str:
    """The owner of the session of the path, for an auditor. Raises NotFound.

    The read is kept, unless it is of one's own and shows nothing that the owner may not see.
    """
    store, session_id = request.backend.store, request.id("session_id")
    owner = await store.audit.owner(session_id)
    if owner != request.user.id or request.flag("internal"):
        await keep(store, request.user, session_id, what)
    return owner


async def keep(store: Store, user: User, session_id: str, what: str) -> None:
    await store.audit.add(AuditRead(at=now(), auditor=user.id, session_id=session_id, what=what))
