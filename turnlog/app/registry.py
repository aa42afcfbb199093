"""The agents of turnlog.toml, made of what they name; and who may use which agent."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from turnlog.app import modules
from turnlog.config import Settings
from turnlog.config.agents import AgentEntry
from turnlog.errors import ConfigError
from turnlog.ports import ADMIN, Agent
from turnlog.projections.billing.budgets import read_budgets
from turnlog.tools.mcp.server import McpServer
from turnlog.tools.tool import Tool


def agents_of(settings: Settings) -> list[Agent]:
    """Raises ConfigError for what an agent names and is not there."""
    return [_agent(entry) for entry in settings.agents]


def _agent(entry: AgentEntry) -> Agent:
    return Agent(
        entry.id,
        prompt=entry.prompt,
        tools=[tool for path in entry.tools for tool in _tools(path, entry.id)],
        name=entry.name,
        description=entry.description,
        model=entry.model,
        approval=entry.approval,  # type: ignore[arg-type]  # the agent checks it
        approver=entry.approver,
        web_search=entry.web_search,
        thinking=entry.thinking,
        hands_over_to=entry.hands_over_to,
        budget=entry.budget,
        users=entry.users,
        roles=entry.roles,
    )


def _tools(path: str, agent_id: str) -> Sequence[Tool]:
    """`module:name` of a tool, or of a list of tools."""
    module, _, name = path.partition(":")
    try:
        loaded = import_module(module)
    except (ImportError, AttributeError, ValueError) as error:
        why = modules.missing(module) if modules.is_missing(module, error) else f"({error})"
        raise ConfigError(
            f"agents.{agent_id}: the tool {path!r} is not there. {why} Write module:name."
        ) from None
    if not hasattr(loaded, name):
        why = modules.lacks(loaded, name)
        raise ConfigError(f"agents.{agent_id}: the tool {path!r} is not there. {why}")
    value: Any = getattr(loaded, name)
    tools = list(value) if isinstance(value, list | tuple) else [value]
    for tool in tools:
        if not isinstance(tool, Tool):
            raise ConfigError(f"agents.{agent_id}: {path!r} is not a tool: decorate it with @tool.")
    return tools


def with_agents(settings: Settings, agents: Sequence[Agent]) -> Settings:
    """The settings with what agents say of budgets and of MCP servers."""
    budgets = [budget for agent in agents for budget in _budgets(agent)]
    known = [agent.id for agent in agents]
    for budget in settings.budgets:
        if budget.agent is not None and budget.agent not in known:
            there = ", ".join(known)
            raise ConfigError(f"A budget is for {budget.agent!r}, which is no agent of: {there}.")
    named = {name: [e.id for e in settings.agents if name in e.mcp] for name in _mcp(settings)}
    mcp = tuple(_for_agents(server, named.get(server.name, [])) for server in settings.mcp)
    return replace(settings, budgets=(*settings.budgets, *budgets), mcp=mcp)


def _mcp(settings: Settings) -> list[str]:
    """The MCP servers that agents name."""
    known = [server.name for server in settings.mcp]
    names = [(entry.id, name) for entry in settings.agents for name in entry.mcp]
    for agent_id, name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise ConfigError(f"agents.{agent_id}: there is no [mcp.{name}]. There are: {there}.")
    return [name for _, name in names]


def _for_agents(server: McpServer, agents: Sequence[str]) -> McpServer:
    return replace(server, agents=(*server.agents, *agents)) if agents else server


def _budgets(agent: Agent) -> list[Any]:
    if agent.budget is None:
        return []
    given = agent.budget if isinstance(agent.budget, list | tuple) else [agent.budget]
    try:
        rows = read_budgets(given)
    except ConfigError as error:
        raise ConfigError(f"Agent {agent.id!r}: {error}") from None
    return [replace(row, agent=agent.id) for row in rows]


class Roster:
    """The agents, and which of them a user may use. For a user, the others do not exist."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._all = {agent.id: agent for agent in agents}
        self._limited = any(agent.users or agent.roles for agent in agents)
        self._roles = {role for agent in agents for role in agent.roles}

    def of(self, user_id: str, roles: Collection[str] | None = ()) -> Mapping[str, Agent]:
        """By id. Nobody hands over to an agent that the user may not use. `roles` None: all."""
        if not self._limited:
            return self._all
        mine = {name for name, agent in self._all.items() if _may_use(agent, user_id, roles)}
        return {
            name: replace(agent, hands_over_to=[o for o in agent.hands_over_to if o in mine])
            for name, agent in self._all.items()
            if name in mine
        }

    def roles(self, roles: Collection[str]) -> list[str]:
        """Those of a user that make a difference here: they are kept with the question."""
        return sorted({ADMIN, *self._roles}.intersection(roles)) if self._roles else []


def _may_use(agent: Agent, user_id: str, roles: Collection[str] | None) -> bool:
    """As one of its users, or by a role; an admin has every role."""
    if not agent.users and not agent.roles:
        return True
    by_role = bool(agent.roles) and (
        roles is None or ADMIN in roles or not {*agent.roles}.isdisjoint(roles)
    )
    return user_id in agent.users or by_role
