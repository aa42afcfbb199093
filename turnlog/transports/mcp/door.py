"""`/mcp`: tools for MCP clients over streamable HTTP, acting as the token's user.

Without agents every request stands alone. Where agents are offered, a client of an older
revision gets an MCP session, so that it can be asked for an approval; the session belongs to the
user who opened it. The official server does the protocol. It is imported with the first request,
which takes a second.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from turnlog.errors import NotFound
from turnlog.ports import Offer, User
from turnlog.tokens import DAY, mint
from turnlog.transports import problem
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.expiry import UntilExpiry
from turnlog.transports.access.limits import WriteLimits
from turnlog.transports.access.origins import is_same_site
from turnlog.transports.http.request import MOST_BYTES, bounded
from turnlog.transports.mcp.agents import AgentTools
from turnlog.transports.mcp.sessions import OpenSession, OpenSessions

PATH = "/mcp"
TOKEN_SECONDS = 60
IDLE_SECONDS = 600  # that an MCP session lives without a request
RETRY_MS = 500  # after which a client whose stream ended comes back
_AUDIENCE = "turnlog:mcp"
SESSION = "mcp-session-id"  # a header
USER = "turnlog.user"  # in the scope


class McpDoor:
    """An ASGI app. It lives from `async with` on; the protocol's part starts when it is needed."""

    def __init__(
        self,
        offer: Offer,
        auth: Auth,
        origins: Sequence[str] = (),
        inside: Offer | None = None,
        writes: WriteLimits | None = None,
        *,
        agents: AgentTools | None = None,
        is_open: bool = True,
    ) -> None:
        """`inside`: what turns of this process are offered, if that is less: no agents, ever.
        `is_open`: whether other programs are answered at all.
        """
        self._writes = writes or WriteLimits(600)
        self._is_open = is_open
        self._auth = auth
        self._origins = origins
        self._secret = secrets.token_hex(32)  # of tokens that never leave this process
        self._outside = _Lazy(offer, agents)
        self._inside = _Lazy(inside or offer, None)
        self._sessions = OpenSessions(IDLE_SECONDS)

    def mint(self, user_id: str) -> str:
        """A token with which a turn of this process acts as its user, here and nowhere else."""
        return mint(self._secret, user_id, days=TOKEN_SECONDS / DAY, aud=_AUDIENCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_same_site(scope, self._origins):
            detail = "Pages of other sites are not answered here."
            refused = problem.response(403, "Forbidden", detail, "foreign_origin")
            await refused(scope, receive, send)
            return
        if scope["method"] != "POST" and not self._outside.has_sessions:
            raise HTTPException(405, headers={"allow": "POST"})
        headers = Headers(scope=scope)
        user, lazy = await self._user(headers.get("authorization"))
        receive = await _read(scope, receive)
        server = await lazy.started()
        scope = {**scope, "user": server.principal(user), USER: user}
        if not lazy.has_sessions:
            await server.handle(scope, receive, send)
            return
        if SESSION not in headers and (ended := self._sessions.surplus(user.id)):
            await self._end(server, scope, ended)
        with self._sessions.request(user.id, headers.get(SESSION)) as session:
            watched = partial(self._watch, scope["method"], session, send)
            server.enter(session.room)
            await _until(user, server.handle)(scope, receive, watched)

    async def _end(self, server: "_Running", scope: Scope, session_id: str) -> None:
        """As if its client had asked for it."""

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        headers = [(b"accept", b"application/json"), (SESSION.encode(), session_id.encode())]
        request = {**scope, "method": "DELETE", "headers": headers}
        with self._sessions.request(scope[USER].id, session_id) as session:
            await server.handle(request, nothing, _unheard)
            self._sessions.ended(session)

    async def _watch(self, method: str, session: OpenSession, send: Send, message: Message) -> None:
        """Learn from an answer which MCP session it opens or ends."""
        if message["type"] == "http.response.start" and message["status"] < 300:
            headers = Headers(raw=list(message.get("headers", ())))
            if method == "DELETE":
                self._sessions.ended(session)
            elif name := headers.get(SESSION):
                self._sessions.opened(session, name)
        await send(message)

    async def _user(self, authorization: str | None) -> "tuple[User, _Lazy]":
        """A turn of this process, or whoever the token of the request names; and their server."""
        _, _, token = (authorization or "").partition(" ")
        import jwt

        with suppress(jwt.PyJWTError):
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=["HS256"],
                audience=_AUDIENCE,
                options={"require": ["sub", "exp", "aud"]},
            )
            return User(id=claims["sub"]), self._inside
        if not self._is_open:
            raise NotFound("There is nothing here.")
        user = await self._auth.identify(authorization)
        await self._writes.count(user.id)
        return user, self._outside

    async def __aenter__(self) -> None:
        for lazy in (self._outside, self._inside):
            lazy.starting = asyncio.Lock()  # of the loop that runs now

    async def __aexit__(self, *exc: object) -> None:
        for lazy in (self._outside, self._inside):
            await lazy.stop()


class _Lazy:
    """A server that starts with its first request."""

    def __init__(self, offer: Offer, agents: AgentTools | None) -> None:
        self.has_sessions = agents is not None
        self.starting = asyncio.Lock()
        self._parts = (offer, agents)
        self._running: _Running | None = None

    async def started(self) -> "_Running":
        async with self.starting:
            if self._running is None:
                manager = await asyncio.to_thread(_manager, *self._parts)
                self._running = await _Running.start(manager)
            return self._running

    async def stop(self) -> None:
        if self._running is not None:
            await self._running.stop()
            self._running = None


class _Running:
    """The official server, in a task of its own: what it opens must be closed where it was."""

    def __init__(self, manager: Any) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        self._types: tuple[Any, Any] = (AuthenticatedUser, AccessToken)
        self._room = _room()
        self._manager = manager
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="mcp server")

    @classmethod
    async def start(cls, manager: Any) -> "_Running":
        running = cls(manager)
        await running._ready.wait()
        return running

    def principal(self, user: User) -> Any:
        """Whom an MCP session belongs to: its id in another user's hands opens nothing."""
        authenticated, token = self._types
        return authenticated(token(token="", client_id=user.id, scopes=[], subject=user.id))

    def enter(self, room: str) -> None:
        """What is remembered from here on belongs to this MCP session."""
        self._room.set(room)

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._over.wait()

    async def stop(self) -> None:
        self._over.set()
        await self._task

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def _manager(offer: Offer, agents: AgentTools | None) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from turnlog.transports.mcp import server as official
    from turnlog.transports.mcp.events import RecentEvents

    server = official.server_of(offer, agents)
    # Host and Origin are checked at our own door.
    if agents is None:
        return StreamableHTTPSessionManager(
            server, stateless=True, json_response=True, max_request_body_size=MOST_BYTES
        )
    return StreamableHTTPSessionManager(
        server,
        event_store=RecentEvents(),
        retry_interval=RETRY_MS,
        session_idle_timeout=IDLE_SECONDS,
        max_request_body_size=MOST_BYTES,
    )


async def _read(scope: Scope, receive: Receive) -> Receive:
    """The whole body first: the official server would wait for it for ever."""
    body = [await bounded(Request(scope, receive))]

    async def given() -> Message:
        if body:
            return {"type": "http.request", "body": body.pop(), "more_body": False}
        return await receive()

    return given


async def _unheard(message: Message) -> None:
    """Nobody waits for this answer."""


def _room() -> Any:
    from turnlog.transports.mcp.events import ROOM

    return ROOM


def _until(user: User, handle: Any) -> Any:
    """No stream outlives its token."""
    return handle if user.until is None else UntilExpiry(handle, user.until)
