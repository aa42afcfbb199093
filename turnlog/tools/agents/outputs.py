"""`Agent(output=...)`: an answer that is a value. The model is told its schema; we check it."""

from dataclasses import replace
from typing import Any

import msgspec

from turnlog.errors import ConfigError
from turnlog.ports import Agent
from turnlog.tools.signatures import hints
from turnlog.tools.signatures.schemas import hoisted


def with_schema(agent: Agent) -> Agent:
    """The agent with the schema of its output. Raises ConfigError for a type that has none."""
    if agent.output is None:
        return agent
    try:
        return replace(agent, output_schema=_schema(agent.output))
    except TypeError as error:
        raise ConfigError(f"Agent {agent.id!r}: {error}") from None


def read(kind: Any, text: str) -> Any:
    """The answer as a value. Raises ValueError with a sentence where it does not fit."""
    try:
        checked = _checked(kind)
        value = msgspec.json.decode(text.encode(errors="replace"))
        return hints.bare(hints.read(value, checked))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"The answer does not fit the agent's output: {error}.") from None


def _checked(kind: Any) -> Any:
    return hints.checkable(kind, "its output")


def _schema(kind: Any) -> dict[str, Any]:
    (top,), parts = msgspec.json.schema_components(
        [_checked(kind)], schema_hook=hints.schema_of_adapted, ref_template="#/$defs/{name}"
    )
    schema: dict[str, Any] = hoisted(dict(top), parts)
    return schema
