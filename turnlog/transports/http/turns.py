"""Turns over HTTP: asked, stopped, watched, reloaded and proved."""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from turnlog.errors import Forbidden
from turnlog.events.cursor import Cursor, parse
from turnlog.ports import Backend, Question
from turnlog.projections.proof import prove
from turnlog.telemetry.metrics import metrics_of
from turnlog.transports import sse, wire
from turnlog.transports.auth import Auth
from turnlog.transports.http.request import (
    body,
    flag,
    json_response,
    number,
)

MOST_EVENTS = 1000  # of one page
BEGINNING = "-1.-1"  # the cursor of a session in which nothing has happened


class NewMessage(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """POST /api/sessions/{id}/messages"""

    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    request_id: str | None = None
    on_busy: Literal["reject", "enqueue"] = "reject"


class TurnRoutes:
    """Whatever is asked is asked as the user of the token."""

    def __init__(self, backend: Backend, auth: Auth) -> None:
        self._backend = backend
        self._auth = auth

    async def send(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        asked = await body(request, NewMessage)
        question = Question(**msgspec.structs.asdict(asked))
        turn = await self._backend.start_turn(user.id, request.path_params["session_id"], question)
        if "text/event-stream" in request.headers.get("accept", ""):
            events = self._backend.follow_turn(user.id, turn)
            return sse.EventStream(events, metrics_of(self._backend.store))
        return json_response({"turnId": turn.turn_id}, 202)

    async def stop(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        stopped = await self._backend.stop_turn(user.id, request.path_params["session_id"])
        return json_response({"stopped": stopped})

    async def stream(self, request: Request) -> Response:
        """What was missed, then live; or one `resync_required`."""
        user = await self._auth.identify(request.headers.get("authorization"))
        session = await self._backend.store.get_session(user.id, request.path_params["session_id"])
        after = _after(request)
        if request.method == "HEAD":
            return Response(headers=sse.HEADERS)  # it has no body, so nobody would see it end
        missed = self._backend.follow(user.id, session.id, after)
        return sse.EventStream(missed, metrics_of(self._backend.store))

    async def reload(self, request: Request) -> Response:
        """The newest page of kept, visible events, and the cursor to go on from."""
        user = await self._auth.identify(request.headers.get("authorization"))
        session_id = request.path_params["session_id"]
        limit = number(request, "limit", 100, least=1, most=MOST_EVENTS)
        before = number(request, "before", 2**62, least=0, most=2**62)
        page = await self._backend.store.tail(user.id, session_id, limit=limit, before=before)
        events = [wire.encode(at) for at in page if not at.placed.internal]
        more = page[0].seq if page and page[0].seq else None
        return _events(events, before=more, cursor=page[-1].cursor if page else BEGINNING)

    async def events(self, request: Request) -> Response:
        """The log itself; internal events for admins only."""
        user = await self._auth.identify(request.headers.get("authorization"))
        internal = flag(request, "internal")
        limit = number(request, "limit", 100, least=1, most=MOST_EVENTS)
        after = number(request, "after", -1, least=-1, most=2**62)
        session_id = request.path_params["session_id"]
        page = await self._backend.store.read(user.id, session_id, after=after, limit=limit)
        if internal and not user.admin:  # of one's own; someone else's is not found
            raise Forbidden("Internal events are for admins.")
        events = [wire.encode(at) for at in page if internal or not at.placed.internal]
        return _events(events, after=page[-1].seq if len(page) == limit else None)

    async def verify(self, request: Request) -> Response:
        user = await self._auth.identify(request.headers.get("authorization"))
        session = await self._backend.store.get_session(user.id, request.path_params["session_id"])
        proof = prove(await self._backend.store.evidence(session.id))
        told = {
            "first": proof.first,
            "last": proof.last,
            "count": proof.count,
            "gaps": proof.gaps,
            "duplicates": proof.duplicates,
            "unpairedTools": proof.unpaired_tools,
            "problems": proof.problems,
            "ok": proof.ok,
        }
        return json_response(told)


def _after(request: Request) -> Cursor | None:
    # A browser that reconnects asks for the same address again: the header is the newer one.
    text = request.headers.get("last-event-id") or request.query_params.get("after")
    return parse(text) if text else None


def _events(events: list[bytes], **rest: object) -> Response:
    """`events` is JSON already."""
    tail = msgspec.json.encode(rest)[1:]
    whole = b'{"events":[%s],%s' % (b",".join(events), tail)
    return Response(whole, media_type="application/json")
