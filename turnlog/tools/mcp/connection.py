"""One connection to an MCP server, which keeps itself alive.

A task of its own opens it, and opens it again when it is lost, waiting longer each time. Those
who use it wait for an attempt that is under way, and no longer.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from turnlog.errors import ToolError
from turnlog.net import back_off
from turnlog.tools.identity import Identity, warn_of
from turnlog.tools.mcp.catalog import Left, Listed, clean, listed
from turnlog.tools.mcp.server import McpServer

_log = logging.getLogger(__name__)
_MOST_WARNED = 20  # parameters of one server that look like an identity
OPENS_WITHIN = 20.0  # seconds
LISTS_WITHIN = 10.0
FRESH_FOR = 60.0  # seconds that a listing is believed, if nothing says otherwise
STEADY = 5.0  # a connection that lasted so long is made again at once
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds until the next attempt
_TOLD = 500  # characters of a server's error
# The connection was closed; the answer was no JSON-RPC, could not be read, was of another kind.
_WITHOUT_ANSWER = (-32000, -32603, -32700, -32600)
_NOT_TAKEN = "Session terminated"  # the client's words for 404: the server knows no such session


class NoAnswer(Exception):
    """The call was sent, and nobody knows what became of it."""


class Connection:
    """Lists tools and calls them. Raises ToolError with a sentence for the model."""

    def __init__(self, server: McpServer, how: tuple[Any, ...], identity: Identity) -> None:
        """`how`: what `handshake.opened` wants to know besides."""
        self.used_at = time.monotonic()
        self.calls = 0  # under way
        self.status = "connecting"
        self._server = server
        self._how = how
        self._identity = identity
        self._client: Any = None
        self._theirs: Any = None  # the tools in the server's own words
        self._tools: list[Listed] = []
        self._listed_at: float | None = None
        self._listing = asyncio.Lock()
        self._settled = asyncio.Event()  # an attempt has ended, well or not
        self._lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    def open(self) -> None:
        """Start connecting; returns at once."""
        if self._task is None or self._task.done():
            self._closing = False
            self._settled.clear()
            self._task = asyncio.create_task(self._keep(), name=f"mcp {self._server.name}")

    async def close(self) -> None:
        """Let go. Whoever uses it again opens it again."""
        if self._task is not None:
            self._closing = True
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def tools(self) -> list[Listed]:
        """The tools as the server has them now; none while it cannot be reached."""
        for _ in range(2):  # a connection that turns out to be dead is made anew, once
            client = await self._connected()
            if client is None:
                break
            async with self._listing:
                with suppress(ToolError):
                    if self._is_stale():
                        await self._listed(client)
                    return self._tools
        return []

    @property
    def known(self) -> list[Listed]:
        """The tools as the server had them when it was last asked."""
        return self._tools

    async def call(self, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> Any:
        """What the server answers. A call is never sent twice. Raises NoAnswer where it is lost."""
        client = await self._connected()
        if client is None:
            raise ToolError(f"The server {self._server.name!r} cannot be reached now.")
        self.calls += 1
        try:
            return await _opening().call(client, name, arguments, meta)
        except Exception as error:
            self._listed_at = None  # is it still there? The next turn looks
            self._explain(error)
        finally:
            self.calls -= 1
            self.used_at = time.monotonic()

    # inside

    async def _connected(self) -> Any:
        self.used_at = time.monotonic()
        self.open()
        await self._settled.wait()
        return self._client

    def _is_stale(self) -> bool:
        return self._listed_at is None or time.monotonic() - self._listed_at > FRESH_FOR

    def _changed(self) -> None:
        self._listed_at = None

    async def _keep(self) -> None:
        tried = 0  # since it last was steady
        try:
            # A client that is cancelled while it opens may raise an error of its own instead.
            while not self._closing:
                began = time.monotonic()
                await self._lived()
                if self._closing:
                    break
                tried = 0 if time.monotonic() - began > STEADY else tried + 1
                if tried:
                    self._settled.set()
                    await asyncio.sleep(back_off(tried, FIRST_WAIT, LONGEST_WAIT))
                    self._settled.clear()
        finally:
            self._settled.set()

    async def _lived(self) -> None:
        try:
            await self._live()
        except Exception as error:
            self.status = f"not reachable ({_kind(error)})"
            _log.warning("MCP server %s: %s", self._server.name, _kind(error))
            _log.debug("MCP server could not be reached", exc_info=error)
        finally:
            self._drop()

    async def _live(self) -> None:
        """Connect, list, and return when the connection is lost. Raises if it never was one."""
        opening = await loaded()
        self._lost = asyncio.Event()
        limit = asyncio.timeout(OPENS_WITHIN)
        connecting = opening.opened(self._server, *self._how, self._lost, self._changed)
        async with limit, connecting as client:
            await self._listed(client)
            limit.reschedule(None)
            self._client = client
            self._settled.set()
            await self._until_lost(opening, client)

    async def _until_lost(self, opening: Any, client: Any) -> None:
        watching = asyncio.create_task(_quietly(opening.watch, client, self._changed))
        try:
            await self._lost.wait()
            self.status = "connection lost"
        finally:
            self._drop()
            watching.cancel()
            await asyncio.wait([watching])

    def _drop(self) -> None:
        """From now on who wants to use it waits for the next attempt."""
        self._lost.set()
        self._client = None
        self._settled.clear()

    async def _listed(self, client: Any) -> None:
        """Ask for the tools. A server that cannot say them is lost. Raises ToolError."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(LISTS_WITHIN):
                theirs = await _opening().list_tools(client)
        except Exception as error:
            self._drop()
            raise ToolError("The tools cannot be listed.") from error
        if theirs != self._theirs:
            await self._read(theirs)
        self._listed_at = began
        self.status = f"{len(self._tools)} tools"

    async def _read(self, theirs: Any) -> None:
        """Their tools as ours. In a thread: nobody else waits while schemas are checked."""
        found = await asyncio.to_thread(lambda: list(listed(self._server, theirs, self._identity)))
        self._theirs = theirs
        self._tools = [tool for tool in found if isinstance(tool, Listed)]
        self._warn_of_look_alikes()
        for left in (tool for tool in found if isinstance(tool, Left)):
            _log.warning(
                "MCP tool %s of %s is left out: %s", left.name, self._server.name, left.why
            )

    def _warn_of_look_alikes(self) -> None:
        names = {n for tool in self._tools for n in self._identity.look_alikes(tool.schema)}
        for name in sorted(names)[:_MOST_WARNED]:
            where = f"[mcp.{self._server.name}] identity"
            warn_of(f"MCP server {self._server.name}", name, where)

    def _explain(self, error: Exception) -> NoReturn:
        """What the model is told: the server's own words if it has any, nothing of our insides."""
        from mcp import MCPError

        _log.warning("MCP server %s, in a call: %s", self._server.name, _kind(error))
        _log.debug("MCP call failed", exc_info=error)
        if not isinstance(error, MCPError) or _is_silence(error.code, error.message):
            raise NoAnswer(self._server.name) from error
        told = clean(error.message, _TOLD)
        raise ToolError(f"The server {self._server.name!r} answered: {told}") from error


def _opening() -> Any:
    return import_module("turnlog.tools.mcp.handshake")


async def loaded() -> Any:
    """The module that needs the `mcp` package: beside the loop, because it takes a second."""
    return await asyncio.to_thread(_opening)


def _is_silence(code: int, message: str) -> bool:
    """Whether the client made this error itself, and the tool may have run all the same."""
    return code in _WITHOUT_ANSWER and message != _NOT_TAKEN


async def _quietly(watch: Callable[..., Any], *given: Any) -> None:
    """Without the news of changes, the listing is asked for once a minute."""
    with suppress(Exception):
        await watch(*given)


def _kind(error: BaseException) -> str:
    """What went wrong, in one word that holds nothing of what was said."""
    while isinstance(error, BaseExceptionGroup | ToolError):
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
        error = inner or Exception()
    closed = getattr(error, "code", None) == _WITHOUT_ANSWER[0]
    word = str(error) if closed else ""  # the name that `opening.failed` gave it
    return word if word.isidentifier() and len(word) < 40 else type(error).__name__
