"""Tools that the client runs: the turn waits until the client says what came of a call.

To the server such a call is a question to somebody, like an approval: it is kept, it survives a
restart, and its answer counts once. The answer is the result.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from turnlog.errors import BadInput, EngineFailed, ToolError
from turnlog.events.handovers import is_reserved
from turnlog.ports import ASKER, ToolSpec
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.tools.tool import Tool

MOST_TOOLS = 64
MOST_BYTES = 100_000  # of all of them
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ClientTool = dict[str, Any]  # name, description, parameters (JSON Schema)


def check(tools: Sequence[ClientTool]) -> None:
    """Raises BadInput for what a model would refuse."""
    if not tools:
        return
    if len(tools) > MOST_TOOLS:
        raise BadInput(f"There are {len(tools)} tools of the client; the limit is {MOST_TOOLS}.")
    if len(msgspec.json.encode(tools)) > MOST_BYTES:
        raise BadInput(f"The client's tools are larger than {MOST_BYTES} bytes.")
    names = [tool.get("name") for tool in tools]
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadInput(f"{name!r} is no name for a tool: take letters, digits, _ and -.")
        if is_reserved(name):  # its calls would be hidden from everybody
            raise BadInput(f"{name!r} is no name for a tool: agents hand over by such names.")
    if len(set(names)) < len(names):
        raise BadInput("Two of the client's tools have the same name.")


def made(tools: Sequence[ClientTool], taken: Sequence[Tool]) -> list[Tool]:
    """Raises EngineFailed where the agent has a tool of that name: who runs it would be unclear."""
    for name in {tool.name for tool in taken} & {tool["name"] for tool in tools}:
        sentence = f"{name!r} is a tool of this server. Give yours another name."
        raise EngineFailed("tool_taken", sentence)
    return [_made(tool) for tool in tools]


def _made(tool: ClientTool) -> Tool:
    schema = tool.get("parameters") or {}
    spec = ToolSpec(
        name=tool["name"],
        description=str(tool.get("description") or ""),
        input_schema={"type": "object", "properties": {}, **schema},
    )
    describe = f"The client runs {spec.name}"
    return Tool(
        function=_result,
        spec=spec,
        arguments=None,
        writes=False,
        approval="always",
        approver=ASKER,
        describe=lambda _: describe,
    )


def is_one(tool: Tool) -> bool:
    return tool.function is _result


def _result(arguments: dict[str, Any]) -> Any:
    if CLIENT_RESULT not in arguments:
        raise ToolError("The client did not run this.")
    return arguments[CLIENT_RESULT]
