"""Which notices an event is worth: the type by its kind, and what is said. A pure table.

A notice says where to look, and enough to decide whether to: not the arguments of a call, nor
what anybody wrote beside the one line that a person is asked.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.clock import now
from turnlog.ports import Notice

TYPES = (
    "approval.requested",
    "approval.decided",
    "approval.expired",
    "write.in_doubt",
    "budget.reached",
    "turn.ended",
)
Said = tuple[str, dict[str, Any]]  # the type, and what is said beside the place
_encode = msgspec.json.Encoder(decimal_format="number").encode


def _requested(event: k.ApprovalRequested) -> Said:
    return "approval.requested", {
        "approvalId": event.approval_id,
        "toolName": event.tool_name,
        "description": event.description,
        "mayDecide": event.may_decide,
        "expiresAt": event.expires_at,
        "costSoFarUsd": event.cost_so_far_usd,
    }


def _resolved(event: k.ApprovalResolved) -> Said:
    kind = "approval.expired" if event.outcome == "expired" else "approval.decided"
    by = event.decided_by
    return kind, {"approvalId": event.approval_id, "outcome": event.outcome, "decidedBy": by}


def _result(event: k.ToolResult) -> Said | None:
    if not event.in_doubt:
        return None
    return "write.in_doubt", {"toolUseId": event.tool_use_id, "toolName": event.tool_name}


def _budget(event: k.BudgetExceeded) -> Said:
    return "budget.reached", {
        "per": event.per,
        "spentUsd": event.spent_usd,
        "limitUsd": event.limit_usd,
        "spentTokens": event.spent_tokens,
        "limitTokens": event.limit_tokens,
    }


def _error(event: k.Error) -> Said:
    return "turn.ended", {"reason": "error", "code": event.code}


def _complete(event: k.Complete) -> Said:
    cost, stop = event.cost_usd, event.stop_reason
    return "turn.ended", {"reason": event.reason, "stopReason": stop, "costUsd": cost}


RULES: Mapping[type[Event], Callable[[Any], Said | None]] = {
    k.ApprovalRequested: _requested,
    k.ApprovalResolved: _resolved,
    k.ToolResult: _result,
    k.BudgetExceeded: _budget,
    k.Error: _error,
    k.Complete: _complete,
}


class Notices:
    """The notices of a server's endpoints: each by its name, with the types it wants."""

    def __init__(self, wanted: Mapping[str, Collection[str]]) -> None:
        self._wanted = wanted

    def speaks_of(self, event: Event) -> bool:
        return type(event) in RULES

    def of_event(self, user_id: str, entry: Stamped) -> Sequence[Notice]:
        place = (entry.session_id, entry.turn_id)
        return self._of(entry.event, user_id, place, entry.envelope.event_id, entry.envelope.time)

    def of_end(
        self, user_id: str, session_id: str, turn_id: str, complete: k.Complete
    ) -> Sequence[Notice]:
        return self._of(complete, user_id, (session_id, turn_id), turn_id, now())

    def _of(
        self, event: Event, user_id: str, place: tuple[str, str], key: str, at: str
    ) -> list[Notice]:
        rule = RULES.get(type(event))
        notice = rule(event) if rule else None
        if notice is None:
            return []
        kind, facts = notice
        where = {"sessionId": place[0], "turnId": place[1], "userId": user_id}
        body = _encode({"type": kind, "timestamp": at, "data": where | facts}).decode()
        return [
            Notice(
                id=f"msg_{key}",
                endpoint=name,
                type=kind,
                user_id=user_id,
                session_id=place[0],
                created_at=at,
                body=body,
                due_at=at,
            )
            for name, types in self._wanted.items()
            if kind in types
        ]
