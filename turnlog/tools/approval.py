"""Who must be asked before a tool runs, and what the person is told.

The policy is data: a tool's own word, else its agent's, else the server's. `writes` asks for
every tool that is not known to change nothing.
"""

import re
from dataclasses import dataclass
from string import Formatter
from typing import Any

import msgspec

from turnlog.events.clock import in_seconds
from turnlog.events.content import hash_of
from turnlog.events.kinds import ApprovalRequested, ToolUse
from turnlog.ports import ASKER, ApprovalRule
from turnlog.tools.signatures import hints
from turnlog.tools.tool import Tool

LONGEST_DESCRIPTION = 300
LONGEST_VALUE = 80
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What holds where a tool says nothing itself, and how long an answer is waited for."""

    server: ApprovalRule = "writes"
    agent: ApprovalRule | None = None
    server_approver: str = ASKER
    agent_approver: str | None = None
    seconds: float = 86_400.0

    def approver(self, tool: Tool) -> str:
        """Who may decide."""
        return tool.approver or self.agent_approver or self.server_approver

    def rule(self, tool: Tool) -> tuple[str, str]:
        """When to ask, and who says so."""
        if tool.approval is not None:
            return tool.approval, "the tool"
        return (self.agent, "its agent") if self.agent is not None else (self.server, "the server")

    def asks_for(self, tool: Tool) -> bool:
        """Whether a person is asked. Whatever is not surely allowed is."""
        rule, _ = self.rule(tool)
        return rule != "never" and not (rule == "writes" and tool.writes is False)


def request(call: ToolUse, tool: Tool, approval_id: str, policy: Policy) -> ApprovalRequested:
    """The question that a person is asked: about the arguments as they would take effect."""
    args = tool.identity.cleaned(call.args)
    return ApprovalRequested(
        approval_id=approval_id,
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        args=args,
        description=description(tool, args),
        expires_at=in_seconds(policy.seconds),
        may_decide=policy.approver(tool),
        args_hash=hash_of(args),
    )


def description(tool: Tool, args: dict[str, Any]) -> str:
    """One line for a person. The arguments are the model's words: they may not break out of it."""
    try:
        text = _described(tool, _with_defaults(tool, args))
    except Exception:  # the tool's own words do not fit these arguments
        text = _plainly(tool.name, args)
    return _one_line(text, LONGEST_DESCRIPTION)


class _Template(Formatter):
    """Each argument as it is told without a template, unless the template says how."""

    def format_field(self, value: Any, format_spec: str) -> str:
        text = format(value, format_spec) if format_spec else _text(value)
        return _one_line(text, LONGEST_VALUE)


def _with_defaults(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """Also what the model left to the tool, where we know its arguments."""
    if tool.arguments is None:
        return args
    fitting = hints.read(args, tool.arguments)
    given = msgspec.to_builtins(fitting, enc_hook=hints.encode)
    return {name: value for name, value in given.items() if value is not None}


def _described(tool: Tool, args: dict[str, Any]) -> str:
    match tool.describe:
        case None:
            return _plainly(tool.name, args)
        case str(template):
            return _Template().vformat(template, (), args)
        case function:
            return function(args)


def _plainly(name: str, args: dict[str, Any]) -> str:
    arguments = ", ".join(
        f"{_words(key)} {_one_line(_text(value), LONGEST_VALUE)}" for key, value in args.items()
    )
    return _words(name).capitalize() + (f": {arguments}" if arguments else "")


def _words(name: str) -> str:
    return re.sub(r"[_\-\s]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _one_line(text: str, longest: int) -> str:
    line = _UNPRINTABLE.sub(" ", text).strip()
    return line if len(line) <= longest else line[: longest - 1] + "…"
