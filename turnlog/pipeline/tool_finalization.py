"""Stage 6. No tool is left without an answer, and no person with a question that is moot.

In:  the tools of the turn that were asked for and not answered.
Out: for each, the withdrawal of its open approval, if any, and one failed ToolResult, so that
     the model can be asked again. A write that had begun is in doubt.
"""

from collections.abc import Iterable

from turnlog.events.base import Event
from turnlog.events.kinds import ApprovalResolved, ToolResult, ToolUse
from turnlog.ports import Permission, Standing

IN_DOUBT = "{why} It had begun: it may or may not have taken effect."


def close_open_tools(calls: Iterable[ToolUse], standing: Standing, why: str) -> list[Event]:
    calls = list(calls)
    pending = standing.pending([call.tool_use_id for call in calls])
    return [
        *(_withdrawn(standing.permissions[tool_use_id], why) for tool_use_id in pending),
        *(_closed(call, why, call.tool_use_id in standing.started) for call in calls),
    ]


def _withdrawn(permission: Permission, why: str) -> ApprovalResolved:
    return ApprovalResolved(
        approval_id=permission.approval_id,
        approved=False,
        decided_by="turnlog",
        outcome="withdrawn",
        reason=why,
        args_hash=permission.args_hash,
    )


def _closed(call: ToolUse, why: str, begun: bool) -> ToolResult:
    return ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=None,
        success=False,
        duration=0,
        error=IN_DOUBT.format(why=why) if begun else why,
        in_doubt=begun,
    )
