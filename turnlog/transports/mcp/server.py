"""The official MCP server with our tools and agents behind it."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import mcp_types as m
import msgspec
from mcp import MCPError
from mcp.server.lowlevel import Server

from turnlog.errors import TurnlogError
from turnlog.ports import Offer, OfferedTool, User
from turnlog.transports.mcp.agents import AgentTools
from turnlog.transports.mcp.conversation import Conversation

KEY_META = "turnlog/idempotencyKey"  # in a call's _meta: the same for the same call
_log = logging.getLogger(__name__)


def server_of(offer: Offer, agents: AgentTools | None) -> Any:
    handlers = _Handlers(offer, agents)
    return Server(
        "turnlog",
        version=version("turnlog"),
        instructions="Tools that act for the user whose token is sent.",
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        get_tool_input_schema=handlers.schema_of,
    )


class _Handlers:
    """What the protocol asks for, and what the offer answers."""

    def __init__(self, offer: Offer, agents: AgentTools | None) -> None:
        self._offer = offer
        self._agents = agents

    def schema_of(self, name: str) -> dict[str, Any] | None:
        agents = self._agents.all_tools() if self._agents else []
        tools = {tool.spec.name: tool for tool in [*self._offer.tools, *agents]}
        return tools[name].spec.input_schema if name in tools else None

    def _tools(self, user: User) -> Sequence[OfferedTool]:
        own = [tool for tool in self._offer.tools if not tool.users or user.id in tool.users]
        return own if self._agents is None else [*own, *self._agents.tools(user)]

    async def list_tools(self, ctx: Any, params: Any) -> Any:
        return m.ListToolsResult(tools=[_tool(each) for each in self._tools(_user(ctx))])

    async def call_tool(self, ctx: Any, params: Any) -> Any:
        """What goes wrong is told to the model; what we cannot explain, only to our log."""
        user = _user(ctx)
        if params.name not in {tool.spec.name for tool in self._tools(user)}:
            unknown = f"There is no tool {params.name!r}."
            raise MCPError(code=m.INVALID_PARAMS, message=unknown)
        given = (ctx.meta or {}).get(KEY_META)
        key = given if isinstance(given, str) else ""
        try:
            if self._agents is not None and self._agents.has(params.name):
                return await self._agents.call(Conversation(ctx, params), user, key)
            value = await self._offer.call(user.id, params.name, params.arguments or {}, key)
        except TurnlogError as error:
            return _result(str(error), is_error=True)
        except Exception as error:
            _log.error("MCP tool %s failed", params.name, exc_info=error)
            return _result("The tool failed.", is_error=True)
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if isinstance(value, dict):
            return _result(text, structured_content=value)
        return _result(text)


def _user(ctx: Any) -> User:
    user: User = ctx.request.scope["turnlog.user"]
    return user


def _tool(offered: OfferedTool) -> m.Tool:
    hints = m.ToolAnnotations(
        title=offered.title,
        read_only_hint=not offered.writes,
        destructive_hint=offered.destroys,
        idempotent_hint=offered.repeatable,
        open_world_hint=False,
    )
    return m.Tool(
        name=offered.spec.name,
        title=offered.title,
        description=offered.spec.description,
        input_schema=offered.spec.input_schema,
        output_schema=offered.output_schema,
        annotations=hints,
    )


def _result(text: str, **more: Any) -> m.CallToolResult:
    return m.CallToolResult(content=[m.TextContent(text=text)], **more)
