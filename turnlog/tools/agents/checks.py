"""What cannot work in a set of agents is said at once, not with the first question."""

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from turnlog.errors import ConfigError
from turnlog.events.handovers import RESERVED_PREFIXES, is_reserved
from turnlog.ports import Agent
from turnlog.tools.identity import warn_of
from turnlog.tools.tool import Tool

_log = logging.getLogger(__name__)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def check_list(agents: object) -> None:
    """Raises ConfigError for what is no list of agents. None: those of the demo."""
    if isinstance(agents, Agent | str):
        raise ConfigError("create_app takes a list of agents: create_app([Agent('assistant')]).")
    if agents is not None and not isinstance(agents, Collection):
        raise ConfigError(f"create_app takes a list of agents, not {agents!r}.")
    for agent in agents or ():
        if not isinstance(agent, Agent):
            raise ConfigError(f"{agent!r} is not an agent. Make one: Agent('assistant').")


def check(agents: Sequence[Agent], of_file: Collection[str] = ()) -> None:
    """Raises ConfigError for a name that is missing, used twice, reserved or unknown, and for
    what is no tool. `of_file`: the ids that turnlog.toml gives."""
    if not agents:
        raise ConfigError(
            "create_app has no agents. Give it at least one, such as [Agent('assistant')]; for the"
            " demo's, leave the argument out."
        )
    _check_names("agent", [agent.id for agent in agents], of_file)
    for agent in agents:
        _check_id(agent)
        names = [_tool_name(tool) for tool in agent.tools]
        _check_names(f"tool of agent {agent.id!r}", names)
        _check_reserved(agent, names)
        _check_handovers(agent, [other.id for other in agents])


def identified(agents: Sequence[Agent], names: Mapping[str, str]) -> list[Agent]:
    """The agents with tools that know what identity is called here.

    Raises ConfigError for a parameter that the server cannot fill. A parameter that looks like
    an identity, and is the model's, is named in the log.
    """
    return [replace(agent, tools=_under(agent, names)) for agent in agents]


def _under(agent: Agent, names: Mapping[str, str]) -> list[Tool]:
    try:
        tools = [tool.under(names) for tool in agent.tools]
    except TypeError as error:
        raise ConfigError(f"Agent {agent.id!r}: {error}.") from None
    for tool in tools:
        if not tool.spec.description:
            _log.warning(
                "tool %s of agent %s has no docstring: the model must guess from its name what"
                " it does. Write one sentence.",
                tool.name,
                agent.id,
            )
        for name in tool.identity.look_alikes(tool.spec.input_schema):
            whose = f"tool {tool.name} of agent {agent.id}"
            warn_of(whose, name, "[identity] or in @tool(identity=...)")
    return tools


def _check_id(agent: Agent) -> None:
    """It becomes a part of tool names, which the API limits to these characters."""
    if not _ID.fullmatch(agent.id):
        raise ConfigError(
            f"The agent's id {agent.id!r} must be letters, digits, '_' and '-', 64 at most, and"
            " begin with a letter or a digit. Its `name` may be anything."
        )


def _check_reserved(agent: Agent, tools: Sequence[str]) -> None:
    for name in tools:
        if is_reserved(name):
            prefix = next(each for each in RESERVED_PREFIXES if name.startswith(each))
            raise ConfigError(
                f"The tool {name!r} of agent {agent.id!r} must have another name: {prefix!r} is for"
                " the server's own tools, by which agents hand over to each other."
            )


def _check_handovers(agent: Agent, known: Sequence[str]) -> None:
    for other in agent.hands_over_to:
        if other not in known or other == agent.id:
            raise ConfigError(
                f"Agent {agent.id!r} cannot hand over to {other!r}. There are: {', '.join(known)}."
            )


def _check_names(what: str, names: list[str], of_file: Collection[str] = ()) -> None:
    if twice := {name for name in names if not name or names.count(name) > 1}:
        also = ", ".join(f"[agents.{name}]" for name in sorted(twice & set(of_file)))
        hint = f" turnlog.toml has {also}: leave it out there or in the code." if also else ""
        raise ConfigError(f"Each {what} needs a name of its own: {sorted(twice)}.{hint}")


def _tool_name(tool: object) -> str:
    if not isinstance(tool, Tool):
        raise ConfigError(f"{tool!r} is not a tool: decorate it with @tool.")
    return tool.name
