"""The HTTP application, made from the table of routes. Errors are problem documents."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from hmac import compare_digest

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send, StatelessLifespan

from turnlog.errors import Forbidden, TurnlogError
from turnlog.ports import Backend, Tickets, User
from turnlog.transports import problem
from turnlog.transports.access import tickets
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.expiry import UntilExpiry
from turnlog.transports.access.limits import Connections, Limits, WriteLimits
from turnlog.transports.access.origins import Door
from turnlog.transports.access.sign_in import SignIn
from turnlog.transports.fitting import refuse_misspelt
from turnlog.transports.http.request import NOBODY, UserRequest
from turnlog.transports.http.routes import MESSAGES, ROUTES, Handler, Route, Who
from turnlog.transports.http.site import Site
from turnlog.transports.mcp.door import McpDoor
from turnlog.transports.mounting import route_path
from turnlog.transports.sse import ENDS, EventStream, Streams

WRITING = ("POST", "PATCH", "PUT", "DELETE")
# So that a browser does nothing with an answer that we do not want.
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    ),
)
HEADERS_OF_API = (*HEADERS, (b"cache-control", b"no-store"))


def http_app(
    backend: Backend,
    auth: Auth,
    lifespan: StatelessLifespan[Starlette],
    mcp: McpDoor,
    origins: Sequence[str] = (),
    metrics_token: str | None = None,
    limits: Limits | None = None,
) -> Starlette:
    """The ASGI application. `origins`: other sites whose pages may ask, none by default."""
    guards = Guards(auth, metrics_token, limits or Limits(WriteLimits(600), Connections(1_000)))
    by_path: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route)
    table = [_starlette_route(routes, guards, backend, mcp) for routes in by_path.values()]
    table.sort(key=lambda route: route.path != MESSAGES)  # it is searched from the top
    messages, *others = table
    site = Site(origins)
    app = Streams(
        lifespan=lifespan,
        middleware=_middleware(auth, origins),
        routes=[messages, *site.routes(), *others],
        exception_handlers={
            TurnlogError: problem.explained,
            HTTPException: site.missing,
            Exception: problem.unexplained,
        },
    )
    app.state.sign_in = SignIn(auth)
    app.router.redirect_slashes = False  # it would redirect to whatever Host was sent
    return app


def _starlette_route(
    routes: Sequence[Route], guards: "Guards", backend: Backend, mcp: McpDoor
) -> StarletteRoute:
    """One for all methods of a path, so that a wrong method is told all the right ones."""
    path = routes[0].path
    handlers: dict[str, tuple[Route, Handler]] = {}
    for route in routes:
        if route.handler is None:
            return StarletteRoute(path, mcp, methods=[each.method for each in routes])
        handlers[route.method] = (route, route.handler)

    return StarletteRoute(path, Endpoint(handlers, guards, backend), methods=list(handlers))


class Endpoint:
    """The methods of a path, as an ASGI application. Around a function Starlette would lay another
    request, and handlers of errors that the layer outside has as well.
    """

    def __init__(
        self, handlers: Mapping[str, tuple[Route, Handler]], guards: "Guards", backend: Backend
    ) -> None:
        self._handlers = handlers
        self._guards = guards
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> ASGIApp:
        route, handler = self._handlers["GET" if request.method == "HEAD" else request.method]
        user = await self._guards.user(route.who, request, self._backend.store)
        if request.scope.get("query_string") and route.path.startswith("/api/"):
            refuse_misspelt(request.query_params.keys(), (*route.query, tickets.QUERY))
        response = await handler(UserRequest(request, user, self._backend))
        if isinstance(response, EventStream):
            response.until = user.until
        elif user.until is not None and isinstance(response, StreamingResponse):
            return UntilExpiry(response, user.until)
        return response


class Guards:
    """Who may come in, for each `who` of the table. What it does not know, nobody may."""

    def __init__(self, auth: Auth, metrics_token: str | None, limits: Limits) -> None:
        self._auth = auth
        self._writes, self._connections = limits
        self._metrics_token = metrics_token
        self._guards: dict[Who, Callable[[str], Awaitable[User]]] = {
            "none": self._anybody,
            "guest": self._guest,
            "user": self._auth.identify,
            "auditor": self._auditor,
            "admin": self._admin,
            "scraper": self._scraper,
        }

    async def user(self, who: Who, request: Request, given: Tickets) -> User:
        """By the token; or by a ticket, where a browser can send no token. Counted until all is
        sent. Raises Unauthorized, Forbidden, or TooMany where a user does more than a user may.
        """
        user = await self._identified(who, request, given)
        if user is not NOBODY:
            self._connections.open(user.id)
            request.scope[ENDS].append(partial(self._connections.close, user.id))
        return user

    async def _identified(self, who: Who, request: Request, given: Tickets) -> User:
        guard = self._guards[who]
        authorization = request.headers.get("authorization", "")
        query = request.scope.get("query_string")
        text = request.query_params.get(tickets.QUERY) if query else None
        if text is not None and not authorization and (who, request.method) == ("user", "GET"):
            return await tickets.use(given, text, route_path(request.scope))
        user = await guard(authorization)
        if request.method in WRITING:
            await self._writes.count(user.id)
        return user

    async def _anybody(self, authorization: str) -> User:
        return NOBODY

    async def _guest(self, authorization: str) -> User:
        """Whoever shows no token is told less."""
        if self._auth.required and not authorization:
            return NOBODY
        return await self._auth.identify(authorization)

    async def _auditor(self, authorization: str) -> User:
        user = await self._auth.identify(authorization)
        if not user.auditor:
            raise Forbidden("This is for auditors.")
        return user

    async def _admin(self, authorization: str) -> User:
        """Without users, whoever may knock is one."""
        user = await self._auth.identify(authorization)
        if not user.admin:
            raise Forbidden("This is for admins.")
        return user

    async def _scraper(self, authorization: str) -> User:
        expected = f"Bearer {self._metrics_token}"
        if self._metrics_token and compare_digest(authorization.encode(), expected.encode()):
            return NOBODY
        return await self._admin(authorization)


def _middleware(auth: Auth, origins: Sequence[str]) -> list[Middleware]:
    """From the outside in."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PATCH", "DELETE"],
        allow_headers=[
            "authorization",
            "content-type",
            "last-event-id",
            "mcp-session-id",
            "mcp-protocol-version",
        ],
        expose_headers=["mcp-session-id"],
    )
    return [
        Middleware(Shield),
        *([] if auth.required else [Middleware(Door, origins=origins)]),
        *([cors] if origins else []),
        # 1, as nginx has it: 9 takes eight times as long for an eighth less.
        Middleware(GZip, minimum_size=1000, compresslevel=1),
    ]


class GZip(GZipMiddleware):
    """Packs large answers for those who can unpack, and says of all that are large that it would.

    An event stream goes by: only its head would come through here.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (b"accept", b"text/event-stream") in scope.get("headers", ()):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class Shield:
    """ASGI middleware: adds HEADERS to what has none of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                own = {name for name, _ in headers}
                more = HEADERS_OF_API if route_path(scope).startswith("/api/") else HEADERS
                message["headers"] = [*headers, *[each for each in more if each[0] not in own]]
            await send(message)

        await self._app(scope, receive, shielded)
