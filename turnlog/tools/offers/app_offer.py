"""The app's own tools that allow it (`@tool(mcp=True)`), for other programs at `/mcp`.

Nobody can be asked there for an approval, so a tool that would ask is refused when the server
starts: whoever lets programs use it has to say that nobody is asked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from turnlog.errors import ConfigError, ToolError, TurnlogError
from turnlog.ports import Agent, OfferedTool
from turnlog.tools.approval import Policy
from turnlog.tools.call import called
from turnlog.tools.tool import Tool, ToolContext

ASKS = (
    "Tool {name!r} asks a person before it runs, and over MCP nobody can be asked. Say "
    "approval='never' if the programs that may use it decide themselves, or leave mcp out."
)
TAKEN = "Two tools that are offered over MCP are called {name!r}. Rename one."


class AppOffer:
    """An Offer of what agents have, beside another offer."""

    def __init__(self, agents: Sequence[Agent], policy: Policy, beside: Any) -> None:
        """Raises ConfigError for a tool that asks a person, and for a name that is taken."""
        self._beside = beside
        self._own: dict[str, Tool] = {}
        users: dict[str, list[Sequence[str]]] = {}  # of the agents that have a tool
        taken = {offered.spec.name for offered in beside.tools}
        offered = [(agent, tool) for agent in agents for tool in agent.tools if tool.mcp]
        for agent, tool in offered:
            if replace(policy, agent=agent.approval).asks_for(tool):
                raise ConfigError(ASKS.format(name=tool.name))
            if self._own.get(tool.name) == tool:
                users[tool.name].append(agent.users)  # several agents have it
                continue
            if tool.name in taken:
                raise ConfigError(TAKEN.format(name=tool.name))
            taken.add(tool.name)
            self._own[tool.name] = tool
            users[tool.name] = [agent.users]
        own = [_offered(tool, users[tool.name]) for tool in self._own.values()]
        self.tools: Sequence[OfferedTool] = [*beside.tools, *own]

    async def call(self, user_id: str, name: str, arguments: dict[str, Any], key: str) -> Any:
        tool = self._own.get(name)
        if tool is None:
            return await self._beside.call(user_id, name, arguments, key)
        context = ToolContext(
            user_id=user_id, session_id="", turn_id="", tool_use_id="", idempotency_key=key
        )
        try:
            async with asyncio.timeout(tool.timeout):
                value = await called(tool.function, **tool.given(arguments, context))
        except TurnlogError:
            raise
        except TimeoutError:
            raise ToolError(f"No answer after {tool.timeout:g} s: time limit.") from None
        return msgspec.json.decode(msgspec.json.encode(value))


def _offered(tool: Tool, users: Sequence[Sequence[str]]) -> OfferedTool:
    """For everybody, if one of the agents that have it is."""
    named = frozenset(user for group in users for user in group)
    return OfferedTool(
        spec=tool.spec,
        title=tool.title or tool.name.replace("_", " ").capitalize(),
        output_schema=None,
        writes=tool.writes is not False,
        destroys=tool.writes is not False,
        repeatable=tool.writes is False,
        users=named if all(users) else frozenset(),
    )
