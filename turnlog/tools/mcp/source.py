"""The tools that agents have from MCP servers, for the user of a turn."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from turnlog.errors import ConfigError
from turnlog.ports import Agent, OfferedTool
from turnlog.tokens import DAY, mint
from turnlog.tools.identity import Identity
from turnlog.tools.mcp import results
from turnlog.tools.mcp.catalog import Listed, prefixed
from turnlog.tools.mcp.connection import Connection, loaded
from turnlog.tools.mcp.pace import Pace
from turnlog.tools.mcp.server import McpServer
from turnlog.tools.tool import Tool, ToolContext

_log = logging.getLogger(__name__)
ASSERTION_META = "turnlog/assertion"  # in a call's _meta: who acts, signed
KEY_META = "turnlog/idempotencyKey"  # in a call's _meta: the same for the same call
PATIENCE = 5.0  # seconds that a turn waits for a server before it goes on without
IDLE = 300.0  # seconds after which a user's connection is closed
TOKEN_SECONDS = 60
NOBODY = "nobody"  # for whom our own server lists its tools when the app starts
Mint = Callable[[str], str]  # a user's token for our own server


class KnownTool(NamedTuple):
    """A tool as people are told of it."""

    name: str
    title: str
    writes: bool | None


class Source:
    """One server: a connection for all, or one for each user where it must know who asks."""

    def __init__(self, server: McpServer, mint: Mint, asgi: Any, names: Mapping[str, str]) -> None:
        self.server = server
        self._mint = mint
        self._asgi = asgi
        self._pace = Pace()
        self._identity = Identity(names, server.by_argument)
        self._connections: dict[str, Connection] = {}

    @property
    def status(self) -> str:
        """What is known of it, or of its newest connection."""
        newest = list(self._connections.values())[-1:]
        return newest[0].status if newest else "not asked yet"

    def open(self) -> None:
        """Connect in the background, if one connection is for all."""
        if not self.server.knows_user:
            self._connection("").open()

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._connections.values()))
        self._connections.clear()

    async def tools(self, user_id: str) -> list[Tool]:
        """What the server offers now. None of it, if it does not answer in time."""
        await loaded()
        await self._close_idle()
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._connection(user_id).tools()
        except TimeoutError:
            _log.warning("MCP server %s takes too long; its tools are left out", self.server.name)
            return []
        return [self._tool(each) for each in found]

    def known_tools(self, user_id: str) -> list[Tool]:
        """What the server offered when it was last asked. Nobody is asked now."""
        connection = self._connections.get(user_id if self.server.knows_user else "")
        return [self._tool(each) for each in connection.known] if connection else []

    def _tool(self, theirs: Listed) -> Tool:
        call = partial(self._call, theirs)
        return Tool(
            function=call,
            spec=theirs.spec,
            title=theirs.title,
            arguments=None,
            context_names=("context",),
            schema=theirs.schema,
            identity=self._identity,
            writes=theirs.writes,
            why=theirs.why,
            approval=self.server.approval,
            approver=self.server.approver,
            reconcile=call if theirs.repeatable else None,
            timeout=self.server.timeout,
        )

    async def _call(self, theirs: Listed, arguments: dict[str, Any], context: ToolContext) -> Any:
        meta = {KEY_META: context.idempotency_key} if context.idempotency_key else {}
        if self.server.assertion:
            meta |= {ASSERTION_META: context.assertion(self.server.audience)}
        connection = self._connection(context.user_id)
        return results.value(await connection.call(theirs.name, arguments, meta))

    def _connection(self, user_id: str) -> Connection:
        key = user_id if self.server.knows_user else ""
        if key not in self._connections:
            how = (partial(self._headers, key), self._asgi, self._pace)
            self._connections[key] = Connection(self.server, how, self._identity)
        return self._connections[key]

    def _headers(self, user_id: str) -> Mapping[str, str]:
        """Who asks, as this server is told."""
        headers = {}
        if self.server.user_header is not None:
            headers[self.server.user_header] = user_id
        if self.server.mints:
            headers["authorization"] = f"Bearer {self._token(user_id)}"
        return headers

    def _token(self, user_id: str) -> str:
        """Soon worth nothing, and to nobody but this server."""
        if self.server.token_secret is None:
            return self._mint(user_id)
        secret, audience = self.server.token_secret, self.server.url
        return mint(secret, user_id, days=TOKEN_SECONDS / DAY, aud=audience)

    async def _close_idle(self) -> None:
        old = time.monotonic() - IDLE
        unused = {key: each for key, each in self._connections.items() if not each.calls}
        for key in [key for key, each in unused.items() if key and each.used_at < old]:
            await self._connections.pop(key).close()


class Sources:
    """Every server that any agent uses."""

    def __init__(
        self,
        agents: Sequence[Agent],
        servers: Sequence[McpServer],
        mint: Mint,
        asgi: Any,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`servers` are those of the settings, for all agents or for those they name.

        `names`: what identity is called here (see `identity.IDENTITY`), beside what a server says.
        """
        self._names = names
        self._sources: dict[str, Source] = {}
        self._of_agent: dict[str, list[Source]] = {}
        known = {agent.id for agent in agents}
        for server in servers:
            if unknown := set(server.agents) - known:
                raise ConfigError(f"mcp.{server.name}: there is no agent {min(unknown)!r}.")
        for agent in agents:
            shared = [s for s in servers if not s.agents or agent.id in s.agents]
            sources = [self._source(server, mint, asgi) for server in (*agent.mcp, *shared)]
            _check_names(agent, [source.server for source in sources])
            self._of_agent[agent.id] = sources

    def _source(self, server: McpServer, mint: Mint, asgi: Any) -> Source:
        if not isinstance(server, McpServer):
            raise ConfigError(f"{server!r} is not an MCP server: use McpServer(name, url=...).")
        source = self._sources.setdefault(server.name, Source(server, mint, asgi, self._names))
        if source.server != server:
            raise ConfigError(f"Two MCP servers have the name {server.name!r}.")
        return source

    def __bool__(self) -> bool:
        return bool(self._sources)

    def describe(self) -> str:
        return ", ".join(f"{name} ({each.status})" for name, each in self._sources.items())

    async def __aenter__(self) -> None:
        """Get ready in the background; returns at once."""
        if self:
            self._loading = asyncio.create_task(loaded())
        for source in self._sources.values():
            source.open()

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.gather(*(source.close() for source in self._sources.values()))

    async def examine(self, user_id: str) -> dict[str, tuple[bool, str]]:
        """Each server but our own: whether it answers now, and what it says."""
        others = {n: each for n, each in self._sources.items() if not each.server.is_own}
        found = await asyncio.gather(*(each.tools(user_id) for each in others.values()))
        return {
            name: (bool(tools), each.status)
            for (name, each), tools in zip(others.items(), found, strict=True)
        }

    async def tools_for(self, agent: Agent, user_id: str) -> list[Tool]:
        """The agent's own tools, and those of its servers: the same for the whole turn."""
        sources = self._of_agent[agent.id]
        return await self._tools(agent, sources, user_id) if sources else [*agent.tools]

    async def tools_of_all(self, agent: Agent) -> list[Tool]:
        """The same without servers of others that must know who asks."""
        shared = [s for s in self._of_agent[agent.id] if s.server.is_own or not s.server.knows_user]
        return await self._tools(agent, shared, NOBODY)

    async def _tools(self, agent: Agent, sources: Sequence[Source], user_id: str) -> list[Tool]:
        found = await asyncio.gather(*(source.tools(user_id) for source in sources))
        pairs = zip(sources, found, strict=True)
        theirs = ((source.server, tool) for source, tools in pairs for tool in tools)
        return _distinct(agent.tools, theirs, self._prefixes(agent))

    def _prefixes(self, agent: Agent) -> tuple[str, ...]:
        """What the tools of its servers begin with, whether these are there or not."""
        servers = (source.server for source in self._of_agent[agent.id])
        return tuple(f"{server.name}__" for server in servers if server.prefix)

    def known_tools(
        self, agent: Agent, user_id: str, own: Sequence[OfferedTool]
    ) -> list[KnownTool]:
        """The agent's tools as far as they are known without asking a server.

        `own`: what this process itself offers at `/mcp`.
        """
        sources = self._of_agent[agent.id]
        theirs = [
            (s.server, tool)
            for s in sources
            if not s.server.is_own
            for tool in s.known_tools(user_id)
        ]
        tools = _distinct(agent.tools, theirs, self._prefixes(agent))
        known = [KnownTool(each.name, each.label, each.writes) for each in tools]
        if any(source.server.is_own for source in sources):
            known += [KnownTool(each.spec.name, each.title, each.writes) for each in own]
        return known


def _check_names(agent: Agent, servers: Sequence[McpServer]) -> None:
    """A name is the same server's for ever, also while another is away: what a person allowed
    under it must not be done elsewhere.
    """
    bare = sorted({server.name for server in servers if not server.prefix})
    if len(bare) > 1:
        raise ConfigError(
            f"mcp.{bare[0]} and mcp.{bare[1]}: agent {agent.id!r} has both with prefix = false, and"
            " tools of both could have one name. Set prefix = true for one of them, or say with"
            " 'agents' who has it."
        )


def _distinct(
    own: Iterable[Tool], others: Iterable[tuple[McpServer, Tool]], prefixes: tuple[str, ...]
) -> list[Tool]:
    """No two tools with one name: a server's tool does not stand in for the agent's own, nor,
    while another server is away, for one of that.
    """
    named = {tool.name: tool for tool in own}
    for server, tool in others:
        if tool.name in named or (not server.prefix and tool.name.startswith(prefixes)):
            tool = _renamed(tool, prefixed(server, tool.name))
        named.setdefault(tool.name, tool)
    return list(named.values())


def _renamed(tool: Tool, name: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, name=name))
