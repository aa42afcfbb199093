"""How a turn ended, as those who use turnlog as a library see it: a fold over its events."""

from collections.abc import Sequence

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Event, Stamped
from turnlog.ports import StartedTurn, TurnResult
from turnlog.projections.billing.bill import total


def outcome(turn: StartedTurn, events: list[Stamped]) -> TurnResult:
    said = [at.event for at in events]
    errors = [event.error for event in said if isinstance(event, k.Error)]
    messages = [event for event in said if isinstance(event, k.Message)]
    waiting = _open_approvals(said)
    return TurnResult(
        success=not errors and not waiting,
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        error=errors[0] if errors else None,
        message_id=messages[-1].message_id if messages else None,
        usage=total(said),
        cost_usd=money.total(message.cost_usd for message in messages),
        events=events,
        text=messages[-1].content if messages else "",
        waiting=waiting,
    )


def _open_approvals(events: Sequence[Event]) -> list[str]:
    asked = [event.approval_id for event in events if isinstance(event, k.ApprovalRequested)]
    decided = {event.approval_id for event in events if isinstance(event, k.ApprovalResolved)}
    return [approval for approval in asked if approval not in decided]
