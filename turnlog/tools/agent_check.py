"""What cannot work in a set of agents is said at once, not with the first question."""

from collections.abc import Sequence

from turnlog.errors import ConfigError
from turnlog.ports import Agent
from turnlog.tools.tool import Tool


def check(agents: Sequence[Agent]) -> None:
    """Raises ConfigError for a name that is missing or used twice, and for what is no tool."""
    _check_names("agent", [agent.id for agent in agents])
    for agent in agents:
        _check_names(f"tool of agent {agent.id!r}", [_tool_name(tool) for tool in agent.tools])


def _check_names(what: str, names: list[str]) -> None:
    if twice := {name for name in names if not name or names.count(name) > 1}:
        raise ConfigError(f"Each {what} needs a name of its own: {sorted(twice)}.")


def _tool_name(tool: object) -> str:
    if not isinstance(tool, Tool):
        raise ConfigError(f"{tool!r} is not a tool: decorate it with @tool.")
    return tool.name
