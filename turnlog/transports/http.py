"""HTTP: sessions, messages, and the answer as a stream. Errors are problem documents."""

from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import StatelessLifespan

from turnlog.errors import BadInput, TooLarge, TurnlogError
from turnlog.ports import Backend, Question
from turnlog.transports import problem, sse
from turnlog.transports.auth import Auth
from turnlog.transports.door import Door
from turnlog.transports.welcome import welcome_page

MOST_BYTES = 1_000_000  # of a request's body
T = TypeVar("T", bound=msgspec.Struct)


class NewSession(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """POST /api/sessions"""

    title: str | None = None
    agent: str | None = None


class NewMessage(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """POST /api/sessions/{id}/messages"""

    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    request_id: str | None = None


def http_app(backend: Backend, auth: Auth, lifespan: StatelessLifespan[Starlette]) -> Starlette:
    """The ASGI application."""
    routes = Routes(backend, auth)
    return Starlette(
        lifespan=lifespan,
        middleware=[] if auth.required else [Middleware(Door)],
        routes=[
            Route("/", routes.welcome),
            Route("/healthz", routes.health),
            Route("/api/sessions", routes.create_session, methods=["POST"]),
            Route("/api/sessions/{session_id}/messages", routes.send_message, methods=["POST"]),
        ],
        exception_handlers={
            TurnlogError: problem.explained,
            HTTPException: problem.http,
            Exception: problem.unexplained,
        },
    )


class Routes:
    """What each route does. Whatever is asked is asked as the user of the token."""

    def __init__(self, backend: Backend, auth: Auth) -> None:
        self._backend = backend
        self._auth = auth

    async def welcome(self, request: Request) -> Response:
        return HTMLResponse(welcome_page(self._backend.describe()))

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok"})

    async def create_session(self, request: Request) -> Response:
        user = self._auth.user(request.headers.get("authorization"))
        asked = await _body(request, NewSession)
        session = await self._backend.create_session(user.id, title=asked.title, agent=asked.agent)
        shown = {
            "id": session.id,
            "title": session.title,
            "agent": session.agent_id,
            "createdAt": session.created_at,
        }
        return _json(shown, 201)

    async def send_message(self, request: Request) -> Response:
        user = self._auth.user(request.headers.get("authorization"))
        asked = await _body(request, NewMessage)
        question = Question(**msgspec.structs.asdict(asked))
        turn = await self._backend.start_turn(user.id, request.path_params["session_id"], question)
        if "text/event-stream" in request.headers.get("accept", ""):
            return StreamingResponse(sse.frames(turn.events()), headers=sse.HEADERS)
        return _json({"turnId": turn.turn_id}, 202)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _body(request: Request, kind: type[T]) -> T:
    """The request's JSON, checked. An empty body is an empty object."""
    raw = await _bounded(request)
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"The body does not fit: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"The body is not valid JSON: {error}.") from None


async def _bounded(request: Request) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MOST_BYTES:
            raise TooLarge(f"The body is larger than {MOST_BYTES} bytes.")
        pieces.append(piece)
    return b"".join(pieces)
