"""Every tool of every agent: whether it writes, whether a person is asked, and why. For people."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turnlog.ports import Agent
from turnlog.tools.approval import Policy
from turnlog.tools.tool import Tool

EFFECTS = {True: "writes", False: "reads", None: "may write"}
# What a rule asks for, as the reason of a row.
_RULES = {"always": "always ask", "never": "never ask", "writes": "ask for what may write"}


class Row(NamedTuple):
    """One tool of one agent."""

    agent: str
    tool: str
    effect: str
    asks: str
    why: str


HEAD = Row("agent", "tool", "effect", "asks", "why")


def rows(agent: Agent, tools: Iterable[Tool], policy: Policy) -> Iterator[Row]:
    """A row for each tool, as the runner will treat it."""
    for tool in tools:
        asks = policy.approver(tool) if policy.asks_for(tool) else "nobody"
        yield Row(agent.id, tool.name, EFFECTS[tool.writes], asks, _why(tool, policy))


def _why(tool: Tool, policy: Policy) -> str:
    rule, source = policy.rule(tool)
    known = tool.why or "nothing says that it only reads"
    return f"{known}; {source} says: {_RULES.get(rule, rule)}"


def table(listed: Sequence[Row]) -> list[str]:
    """The rows as lines of text, in columns."""
    whole = [HEAD, *listed]
    wide = [max(len(row[column]) for row in whole) for column in range(len(HEAD) - 1)]
    return [
        "  ".join([*(text.ljust(width) for text, width in zip(row, wide, strict=False)), row.why])
        for row in whole
    ]
