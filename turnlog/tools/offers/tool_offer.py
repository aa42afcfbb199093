"""Our tools for other programs: the same functions, called for the user who asks."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import msgspec

from turnlog.ports import OfferedTool
from turnlog.tools.signatures.schemas import schema_of
from turnlog.tools.tool import Tool, ToolContext


class Hints(NamedTuple):
    """What a program is told that is not in the function."""

    title: str
    destroys: bool
    repeatable: bool


class ToolOffer:
    """An Offer of async tools whose results are structs."""

    def __init__(self, tools: Sequence[Tool], hints: Mapping[str, Hints]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._deps: Any = None
        self.tools: Sequence[OfferedTool] = [_offered(tool, hints[tool.name]) for tool in tools]

    def over(self, deps: Any) -> "ToolOffer":
        """The same offer, whose tools find `deps` in their context."""
        offer = copy(self)
        offer._deps = deps
        return offer

    async def call(
        self, user_id: str, name: str, arguments: dict[str, Any], key: str
    ) -> dict[str, Any]:
        tool = self._tools[name]
        context = ToolContext(
            user_id=user_id,
            session_id="",
            turn_id="",
            tool_use_id="",
            idempotency_key=key,
            deps=self._deps,
        )
        value = await tool.function(**tool.given(arguments, context))
        plain: dict[str, Any] = msgspec.to_builtins(value)
        return plain


def _offered(tool: Tool, hints: Hints) -> OfferedTool:
    return OfferedTool(
        spec=tool.spec,
        title=hints.title,
        output_schema=schema_of(tool.returns),
        writes=tool.writes is not False,
        destroys=hints.destroys,
        repeatable=hints.repeatable,
    )
