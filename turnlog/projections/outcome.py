"""How a turn ended, as those who use turnlog as a library see it: a fold over its events."""

from collections.abc import Sequence
from decimal import Decimal

from turnlog.errors import TurnlogError
from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Event, Stamped
from turnlog.events.content import TokenUsage
from turnlog.ports import StartedTurn, TurnResult
from turnlog.projections.billing.bill import total


def outcome(turn: StartedTurn, events: list[Stamped]) -> TurnResult:
    said = [entry.event for entry in events]
    errors = [event.error for event in said if isinstance(event, k.Error)]
    messages = [event for event in said if isinstance(event, k.Message)]
    waiting = _open_approvals(said)
    usage, cost = _used(said)
    return TurnResult(
        success=not errors and not waiting,
        turn_id=turn.turn_id,
        session_id=turn.session_id,
        error=errors[0] if errors else None,
        message_id=messages[-1].message_id if messages else None,
        usage=usage,
        cost_usd=cost,
        events=events,
        text=messages[-1].content if messages else "",
        waiting=waiting,
    )


def refused(session_id: str, why: TurnlogError) -> TurnResult:
    """Of a question that began no turn."""
    return TurnResult(
        success=False,
        turn_id="",
        session_id=session_id,
        error=str(why),
        message_id=None,
        usage=TokenUsage(),
        cost_usd=None,
        events=[],
    )


def _used(events: Sequence[Event]) -> tuple[TokenUsage, Decimal | None]:
    """The turn's sum, which has what agents said to each other; so far, what was shown."""
    if events and isinstance(last := events[-1], k.Complete):
        return last.token_usage, last.cost_usd
    costs = [event.cost_usd for event in events if isinstance(event, k.Message)]
    return total(events), money.total(costs)


def _open_approvals(events: Sequence[Event]) -> list[str]:
    questions = [event.approval_id for event in events if isinstance(event, k.ApprovalRequested)]
    decided = {event.approval_id for event in events if isinstance(event, k.ApprovalResolved)}
    return [approval for approval in questions if approval not in decided]
