"""The tools of each agent, its own and those of MCP servers: for turns, and for people to read."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from turnlog.assertions import Assertions
from turnlog.events.kinds import UserMessageSent
from turnlog.ports import Agent, EventLog, Standing, Turn
from turnlog.tools import client_tools
from turnlog.tools.agents.listing import Row, rows
from turnlog.tools.approval import Policy
from turnlog.tools.mcp.source import Sources
from turnlog.tools.runner import ToolRunner
from turnlog.tools.tool import NO_ASSERTIONS, Tool, ToolContext

_log = logging.getLogger(__name__)
NOT_THE_ASKER = "others"  # in a row


class AgentTools:
    """Makes the tool box of each turn. `async with` it to have every tool named in the log."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        mcp: Sources,
        policy: Policy,
        log: EventLog,
        *,
        alone: bool = False,
        development: bool = False,
        unlisted: Sequence[Tool] = (),
        assertions: Assertions = NO_ASSERTIONS,
    ) -> None:
        """`policy`: the server's; each agent has its own word in it. `alone`: one user is all.
        `development`: what a tool raises is told in full. `unlisted`: tools of the server
        itself, which are offered where they are of use.
        """
        self._development = development
        self._unlisted = unlisted
        self._assertions = assertions
        self._alone = alone
        self._agents = agents
        self._mcp = mcp
        self._policies = {
            agent.id: replace(policy, agent=agent.approval, agent_approver=agent.approver)
            for agent in agents.values()
        }
        self._log = log
        self._naming: asyncio.Task[None] | None = None

    async def box(self, agent: Agent, turn: Turn, standing: Standing) -> ToolRunner:
        """The agent's tools and those that the client runs, acting for the turn's user."""
        tools = await self._mcp.tools_for(agent, turn.user_id)
        brought = await self._of_client(turn) if standing.brought is None else standing.brought
        if brought:
            tools = [*tools, *client_tools.made(brought, [*tools, *self._ahead(agent)])]
        of_agent: dict[str, Any] = {"agent_id": agent.id, "assertions": self._assertions}
        context = partial(ToolContext.of, turn, deps=agent.deps, **of_agent)
        return ToolRunner(
            tools,
            context,
            standing=standing,
            policy=self._policies[agent.id],
            development=self._development,
            unlisted=self._unlisted,
        )

    def _ahead(self, agent: Agent) -> list[Tool]:
        """Own tools of all to whom the turn may be handed over: a name that one of them has is
        refused before anybody speaks, and not in the middle of the turn.
        """
        ahead = [*agent.hands_over_to]
        for agent_id in ahead:
            ahead += [o for o in self._agents[agent_id].hands_over_to if o not in ahead]
        return [tool for agent_id in ahead for tool in self._agents[agent_id].tools]

    async def _of_client(self, turn: Turn) -> list[client_tools.ClientTool]:
        """The turn's question says what the client brought."""
        after = turn.first_seq - 1
        read = await self._log.read(turn.user_id, turn.session_id, after=after, limit=1)
        questions = [entry.event for entry in read if isinstance(entry.event, UserMessageSent)]
        return questions[0].client_tools if questions else []  # none: an estimate asks nothing

    @property
    def modules(self) -> set[str]:
        """Where the agents' own tools are written: what they log is shown."""
        tools = (tool for agent in self._agents.values() for tool in agent.tools)
        modules = {getattr(tool.function, "__module__", "") or "" for tool in tools}
        return {name for name in modules if name.partition(".")[0] not in ("", "turnlog")}

    def own(self) -> list[Row]:
        """A row for each tool that an agent has itself. Asks no server."""
        return [row for agent in self._agents.values() for row in self._rows(agent, agent.tools)]

    async def listing(self, user_id: str) -> list[Row]:
        """The same with the tools of MCP servers, as this user has them now."""
        listed = []
        for agent in self._agents.values():
            listed += self._rows(agent, await self._mcp.tools_for(agent, user_id))
        return listed

    async def __aenter__(self) -> None:
        _say(self.own())
        for row in self.own():
            if self._alone and row.asks.startswith(NOT_THE_ASKER):
                _log.warning("tool %s: nobody can allow it, because there is one user", row.tool)
        if self._mcp:
            self._naming = asyncio.create_task(self._name_theirs())

    async def __aexit__(self, *exc: object) -> None:
        if self._naming is not None:
            self._naming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._naming

    async def _name_theirs(self) -> None:
        """Those of servers that need not know who asks."""
        for agent in self._agents.values():
            own = {tool.name for tool in agent.tools}
            tools = await self._mcp.tools_of_all(agent)
            _say(self._rows(agent, [tool for tool in tools if tool.name not in own]))

    def _rows(self, agent: Agent, tools: Sequence[Tool]) -> list[Row]:
        return list(rows(agent, tools, self._policies[agent.id]))


def _say(listed: Sequence[Row]) -> None:
    """A line for those of an agent that are treated alike, for the same reason."""
    alike: dict[Row, list[str]] = {}
    for row in listed:
        alike.setdefault(row._replace(tool=""), []).append(row.tool)
    for row, tools in alike.items():
        names = ", ".join(tools)
        _log.info(
            "tools of %s: %s: %s, asks %s: %s", row.agent, names, row.effect, row.asks, row.why
        )
