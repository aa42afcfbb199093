"""`/mcp`: tools for MCP clients over streamable HTTP, acting as the token's user.

Every request stands alone: there is no session that somebody else's token could enter. The
official server does the protocol. It is imported with the first request, which takes a second.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from turnlog.errors import NotFound, TurnlogError
from turnlog.ports import Offer, User
from turnlog.tokens import DAY, mint
from turnlog.transports import problem
from turnlog.transports.auth import Auth
from turnlog.transports.http.request import MOST_BYTES
from turnlog.transports.limits import WriteLimits
from turnlog.transports.origins import is_same_site

PATH = "/mcp"
KEY_META = "turnlog/idempotencyKey"  # in a call's _meta: the same for the same call
TOKEN_SECONDS = 60
_AUDIENCE = "turnlog:mcp"
_USER, _OFFER = "turnlog.user", "turnlog.offer"  # in the scope
_log = logging.getLogger(__name__)


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
        is_open: bool = True,
    ) -> None:
        """`inside`: what turns of this process are offered, if that is less. `is_open`: whether
        other programs are answered at all.
        """
        self._writes = writes or WriteLimits(600)
        self._is_open = is_open
        self._offer = offer
        self._inside = inside or offer
        self._auth = auth
        self._origins = origins
        self._secret = secrets.token_hex(32)  # of tokens that never leave this process
        self._starting = asyncio.Lock()
        self._running: _Running | None = None

    def mint(self, user_id: str) -> str:
        """A token with which a turn of this process acts as its user, here and nowhere else."""
        return mint(self._secret, user_id, days=TOKEN_SECONDS / DAY, aud=_AUDIENCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_same_site(scope, self._origins):
            detail = "Pages of other sites are not answered here."
            refused = problem.response(403, "Forbidden", detail, "foreign_origin")
            await refused(scope, receive, send)
            return
        user, offer = await self._user(Headers(scope=scope).get("authorization"))
        running = await self._started()
        await running.handle({**scope, _USER: user.id, _OFFER: offer}, receive, send)

    async def _user(self, authorization: str | None) -> tuple[User, Offer]:
        """A turn of this process, or whoever the token of the request names; and their tools."""
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
        self._writes.count(user.id)
        return user, self._offer

    async def _started(self) -> "_Running":
        async with self._starting:
            if self._running is None:
                self._running = await _Running.start(self._offer)
            return self._running

    async def __aenter__(self) -> None:
        self._starting = asyncio.Lock()  # of the loop that runs now

    async def __aexit__(self, *exc: object) -> None:
        if self._running is not None:
            await self._running.stop()
            self._running = None


class _Running:
    """The official server, in a task of its own: what it opens must be closed where it was."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="mcp server")

    @classmethod
    async def start(cls, offer: Offer) -> "_Running":
        running = cls(await asyncio.to_thread(_manager, offer))
        await running._ready.wait()
        return running

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._over.wait()

    async def stop(self) -> None:
        self._over.set()
        await self._task

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def _manager(offer: Offer) -> Any:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    schemas = {tool.spec.name: tool.spec.input_schema for tool in offer.tools}
    handlers = _Handlers()
    server = Server(
        "turnlog",
        version=version("turnlog"),
        instructions="Tools that act for the user whose token is sent.",
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        get_tool_input_schema=schemas.get,
    )
    # Host and Origin are checked at our own door.
    return StreamableHTTPSessionManager(
        server, stateless=True, json_response=True, max_request_body_size=MOST_BYTES
    )


class _Handlers:
    """What the protocol asks for, and what the offer answers."""

    def __init__(self) -> None:
        import mcp_types

        self._types = mcp_types

    async def list_tools(self, ctx: Any, params: Any) -> Any:
        offer: Offer = ctx.request.scope[_OFFER]
        return self._types.ListToolsResult(tools=[self._tool(each) for each in offer.tools])

    def _tool(self, offered: Any) -> Any:
        hints = self._types.ToolAnnotations(
            title=offered.title,
            read_only_hint=not offered.writes,
            destructive_hint=offered.destroys,
            idempotent_hint=offered.repeatable,
            open_world_hint=False,
        )
        return self._types.Tool(
            name=offered.spec.name,
            title=offered.title,
            description=offered.spec.description,
            input_schema=offered.spec.input_schema,
            output_schema=offered.output_schema,
            annotations=hints,
        )

    async def call_tool(self, ctx: Any, params: Any) -> Any:
        """What goes wrong is told to the model; what we cannot explain, only to our log."""
        from mcp import MCPError

        offer: Offer = ctx.request.scope[_OFFER]
        if params.name not in {tool.spec.name for tool in offer.tools}:
            unknown = f"There is no tool {params.name!r}."
            raise MCPError(code=self._types.INVALID_PARAMS, message=unknown)
        user_id: str = ctx.request.scope[_USER]
        key = (ctx.meta or {}).get(KEY_META)
        try:
            value = await offer.call(
                user_id, params.name, params.arguments or {}, key if isinstance(key, str) else ""
            )
        except TurnlogError as error:
            return self._result(str(error), is_error=True)
        except Exception as error:
            _log.error("MCP tool %s failed", params.name, exc_info=error)
            return self._result("The tool failed.", is_error=True)
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if isinstance(value, dict):
            return self._result(text, structured_content=value)
        return self._result(text)

    def _result(self, text: str, **more: Any) -> Any:
        return self._types.CallToolResult(content=[self._types.TextContent(text=text)], **more)
