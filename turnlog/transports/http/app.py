"""HTTP: every route in one table. Errors are problem documents."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hmac import compare_digest
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import StatelessLifespan

from turnlog.errors import Forbidden, TurnlogError
from turnlog.events.internal import RESERVED_PREFIXES
from turnlog.ports import Backend
from turnlog.telemetry.registry import CONTENT_TYPE
from turnlog.transports import mcp_server, problem
from turnlog.transports.auth import Auth
from turnlog.transports.http import openapi
from turnlog.transports.http.approvals import DecisionRoutes
from turnlog.transports.http.billing import BillingRoutes
from turnlog.transports.http.headers import Shield
from turnlog.transports.http.origins import Door
from turnlog.transports.http.request import json_response
from turnlog.transports.http.sessions import SessionRoutes
from turnlog.transports.http.turns import TurnRoutes
from turnlog.transports.http.welcome import welcome_page
from turnlog.transports.mcp_server import McpDoor

Handler = Callable[[Request], Awaitable[Response]]


def http_app(
    backend: Backend,
    auth: Auth,
    lifespan: StatelessLifespan[Starlette],
    mcp: McpDoor,
    origins: Sequence[str] = (),
    metrics_token: str | None = None,
) -> Starlette:
    """The ASGI application. `origins`: other sites whose pages may ask, none by default."""
    server = ServerRoutes(backend)
    sessions = SessionRoutes(backend, auth)
    turns = TurnRoutes(backend, auth)
    decisions = DecisionRoutes(backend, auth)
    billing = BillingRoutes(backend, auth)
    one = "/api/sessions/{session_id}"
    app = Starlette(
        lifespan=lifespan,
        middleware=_middleware(auth, origins),
        routes=[
            Route("/", server.welcome),
            Route("/healthz", server.health),
            Route("/readyz", server.ready),
            Route("/metrics", partial(_metrics, backend, auth, metrics_token)),
            Route("/openapi.json", server.openapi),
            Route("/docs", server.docs),
            Route("/api/config", server.config),
            _route("/api/sessions", GET=sessions.list, POST=sessions.create),
            _route(one, GET=sessions.get, PATCH=sessions.change),
            _route(f"{one}/thinking", PATCH=sessions.set_thinking),
            _route(f"{one}/messages", GET=turns.reload, POST=turns.send),
            _route(f"{one}/stop", POST=turns.stop),
            _route(f"{one}/stream", GET=turns.stream),
            _route(f"{one}/events", GET=turns.events),
            _route(f"{one}/verify", GET=turns.verify),
            _route("/api/approvals", GET=decisions.approvals),
            _route("/api/approvals/{approval_id}", POST=decisions.answer),
            _route("/api/doubts", GET=decisions.doubts),
            _route(f"{one}/doubts/{{tool_use_id}}", POST=decisions.settle),
            _route("/api/billing/sessions/{session_id}", GET=billing.session),
            _route("/api/billing/user/{user_id}", GET=billing.user),
            Route(mcp_server.PATH, mcp, methods=["POST"]),
        ],
        exception_handlers={
            TurnlogError: problem.explained,
            HTTPException: problem.http,
            Exception: problem.unexplained,
        },
    )
    app.router.redirect_slashes = False  # it would redirect to whatever Host was sent
    return app


def _middleware(auth: Auth, origins: Sequence[str]) -> list[Middleware]:
    """From the outside in. GZip leaves event streams alone."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PATCH"],
        allow_headers=["authorization", "content-type", "last-event-id"],
    )
    return [
        Middleware(Shield),
        *([] if auth.required else [Middleware(Door, origins=origins)]),
        *([cors] if origins else []),
        Middleware(GZipMiddleware, minimum_size=1000),
    ]


def _route(path: str, **handlers: Handler) -> Route:
    """One route a path, so that a wrong method is told all the right ones."""

    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await handlers[method](request)

    return Route(path, handle, methods=list(handlers))


class ServerRoutes:
    """What anybody may know about the server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def welcome(self, request: Request) -> Response:
        return HTMLResponse(welcome_page(self._backend.describe()))

    async def health(self, request: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether the store answers."""
        await self._backend.store.list_sessions("", limit=1)
        return json_response({"status": "ready"})

    async def openapi(self, request: Request) -> Response:
        return json_response(openapi.document(version("turnlog")))

    async def docs(self, request: Request) -> Response:
        return HTMLResponse(openapi.page())

    async def config(self, request: Request) -> Response:
        told = self._backend.describe() | self._backend.config()
        return json_response(told | {"internalPrefixes": RESERVED_PREFIXES})


async def _metrics(backend: Backend, auth: Auth, token: str | None, request: Request) -> Response:
    """For Prometheus: by its own token, or as an admin. Without users, whoever may knock is one."""
    authorization = request.headers.get("authorization", "")
    expected = f"Bearer {token}"
    if token is None or not compare_digest(authorization.encode(), expected.encode()):
        user = await auth.identify(authorization)
        if not user.admin:
            raise Forbidden("Metrics are for admins.")
    return Response(backend.metrics.page(), media_type=CONTENT_TYPE)
