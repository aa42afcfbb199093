"""Stage 6. Every call gets a result, and no approval stays open after its turn.

In:  the calls of the turn that have no result.
Out: for each, the withdrawal of its open approval, if any, and one failed ToolResult, so that
     the model can be asked again. A write that had begun, or may have, is in doubt.
"""

from collections.abc import Sequence

from turnlog.events.kinds import ApprovalResolved, ToolResult, ToolUse
from turnlog.ports import ApprovalState, Batch, Hidden, OpenCall, Output, Standing, ToolStarted

IN_DOUBT = "{why} It had begun: it may or may not have taken effect."
UNSEEN = "{why} It may have begun: it may or may not have taken effect."


def close_open_tools(calls: Sequence[OpenCall], standing: Standing, why: str) -> list[Batch]:
    """One batch for each call, from the agent that asked for it; withdrawals first."""
    pending = standing.pending([opened.call.tool_use_id for opened in calls])
    withdrawn = [
        Batch([_withdrawn(standing.approvals[opened.call.tool_use_id], why)], opened.agent)
        for opened in calls
        if opened.call.tool_use_id in pending
    ]
    return [*withdrawn, *(Batch(_closed(each, standing, why), each.agent) for each in calls)]


def _withdrawn(approval: ApprovalState, why: str) -> ApprovalResolved:
    return ApprovalResolved(
        approval_id=approval.approval_id,
        approved=False,
        decided_by="turnlog",
        outcome="withdrawn",
        reason=why,
        args_hash=approval.args_hash,
    )


def _closed(opened: OpenCall, standing: Standing, why: str) -> list[Output]:
    call = opened.call
    if call.tool_use_id in standing.started:
        result = _failed(call, IN_DOUBT.format(why=why), in_doubt=True)
    elif unseen := _unseen(call, standing):  # what is in doubt has begun, for all who look
        return [unseen, _failed(call, UNSEEN.format(why=why), in_doubt=True)]
    else:
        result = _failed(call, why)
    return [Hidden(event=result) if opened.hidden else result]


def _unseen(call: ToolUse, standing: Standing) -> ToolStarted | None:
    """A call that a person is asked about begins where everybody sees it."""
    is_asked = call.tool_use_id in standing.approvals
    return None if is_asked else standing.unseen.get(call.tool_use_id)


def _failed(call: ToolUse, error: str, *, in_doubt: bool = False) -> ToolResult:
    return ToolResult(
        tool_use_id=call.tool_use_id,
        tool_name=call.tool_name,
        result=None,
        success=False,
        duration=0,
        error=error,
        in_doubt=in_doubt,
    )
