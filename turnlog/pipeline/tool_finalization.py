"""Stage 6. No tool is left without an answer.

In:  the tools of the turn that were asked for and not answered.
Out: one failed ToolResult for each, so that the model can be asked again.
"""

from collections.abc import Iterable

from turnlog.events.kinds import ToolResult, ToolUse


def close_open_tools(calls: Iterable[ToolUse], why: str) -> list[ToolResult]:
    return [
        ToolResult(
            tool_use_id=call.tool_use_id,
            tool_name=call.tool_name,
            result=None,
            success=False,
            duration=0,
            error=why,
        )
        for call in calls
    ]
