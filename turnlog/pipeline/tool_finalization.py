"""Stage 6. Every call gets a result, and no approval stays open after its turn.

In:  the calls of the turn that have no result.
Out: for each, the withdrawal of its open approval, if any, and one failed ToolResult, so that
     the model can be asked again. A write that had begun is in doubt.
"""

from collections.abc import Sequence

from turnlog.events.kinds import ApprovalResolved, ToolResult, ToolUse
from turnlog.ports import ApprovalState, Batch, Hidden, OpenCall, Standing

IN_DOUBT = "{why} It had begun: it may or may not have taken effect."


def close_open_tools(calls: Sequence[OpenCall], standing: Standing, why: str) -> list[Batch]:
    """One batch for each call, from the agent that asked for it; withdrawals first."""
    pending = standing.pending([opened.call.tool_use_id for opened in calls])
    withdrawn = [
        Batch([_withdrawn(standing.approvals[opened.call.tool_use_id], why)], opened.agent)
        for opened in calls
        if opened.call.tool_use_id in pending
    ]
    return [*withdrawn, *(Batch([_closed(each, standing, why)], each.agent) for each in calls)]


def _withdrawn(approval: ApprovalState, why: str) -> ApprovalResolved:
    return ApprovalResolved(
        approval_id=approval.approval_id,
        approved=False,
        decided_by="turnlog",
        outcome="withdrawn",
        reason=why,
        args_hash=approval.args_hash,
    )


def _closed(opened: OpenCall, standing: Standing, why: str) -> ToolResult | Hidden:
    result = _failed(opened.call, why, opened.call.tool_use_id in standing.started)
    return Hidden(event=result) if opened.hidden else result


def _failed(call: ToolUse, why: str, begun: bool) -> ToolResult:
    return ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=None,
        success=False,
        duration=0,
        error=IN_DOUBT.format(why=why) if begun else why,
        in_doubt=begun,
    )
