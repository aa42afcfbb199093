"""The door for MCP clients, made of what the app has and of what the settings allow."""

from collections.abc import Sequence

from turnlog.app.adapters import approval_policy
from turnlog.config import Settings
from turnlog.errors import ConfigError
from turnlog.ports import Agent, Backend, Offer
from turnlog.tools.offers.app_offer import AppOffer
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.limits import WriteLimits
from turnlog.transports.mcp.agents import EVERY, AgentTools, tool_name
from turnlog.transports.mcp.door import McpDoor


def mcp_door(
    backend: Backend,
    agents: Sequence[Agent],
    settings: Settings,
    inside: Offer,
    auth: Auth,
    writes: WriteLimits,
) -> McpDoor:
    """Raises ConfigError for what cannot be offered. `inside`: what turns of this process get."""
    offered = AppOffer(agents, approval_policy(settings), inside)
    names = _agents_named(settings, [agent.id for agent in agents], offered)
    return McpDoor(
        offered,
        auth,
        settings.origins,
        inside,
        writes,
        agents=AgentTools(backend, names) if names else None,
        is_open=settings.serve_mcp,
    )


def _agents_named(settings: Settings, agents: Sequence[str], offer: Offer) -> list[str]:
    """The agents that `mcp_agents` names. Raises ConfigError for one that is not there, and for
    one whose tool would have the name of another tool.
    """
    names = [name.strip() for name in settings.mcp_agents.split(",") if name.strip()]
    if EVERY in names:
        names = list(agents)
    taken = {tool.spec.name for tool in offer.tools}
    for name in names:
        if name not in agents:
            there = ", ".join(agents)
            raise ConfigError(f"mcp_agents: {name!r} is no agent of: {there}.")
        if tool_name(name) in taken:
            raise ConfigError(f"mcp_agents: two tools are called {tool_name(name)!r}. Rename one.")
        taken.add(tool_name(name))
    return names
