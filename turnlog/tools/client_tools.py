"""Tools that the client runs: the turn waits until the client says what came of a call.

To the server such a call is a question to somebody, like an approval: it is kept, it survives a
restart, and its answer counts once. The answer is the result.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from turnlog.errors import BadInput, ToolError
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
    if len(set(names)) < len(names):
        raise BadInput("Two of the client's tools have the same name.")


def made(tools: Sequence[ClientTool], taken: Sequence[Tool]) -> list[Tool]:
    """Those whose name the agent's own tools do not have."""
    names = {tool.name for tool in taken}
    return [_made(tool) for tool in tools if tool["name"] not in names]


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


def _result(arguments: dict[str, Any]) -> Any:
    if CLIENT_RESULT not in arguments:
        raise ToolError("The client did not run this.")
    return arguments[CLIENT_RESULT]
