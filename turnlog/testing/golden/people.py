"""What people do on a golden page while a turn waits for them, and when it is at rest again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from turnlog.app import Turnlog
from turnlog.events.cursor import parse
from turnlog.ports import Decision
from turnlog.projections.transcript import Shown
from turnlog.testing.golden.steps import PersonStep
from turnlog.transports import wire
from turnlog.transports.access.auth import LOCAL_USER

ASKS = "approval_requested"
ENDINGS = ("complete", "error", "resync_required")
SHORT = 0.2  # seconds that an approval stays open on a page where nobody answers


def is_at_rest(events: Sequence[Shown]) -> bool:
    """Whether the newest turn of these is over, or can do nothing until a person decides."""
    if not events:
        return False
    if events[-1]["type"] in ENDINGS:
        return True
    turn = [event for event in events if event["turnId"] == events[-1]["turnId"]]
    asked = _ids(turn, "tool_use", "toolUseId") - _ids(turn, "tool_result", "toolUseId")
    pending = {event["toolUseId"] for event in _open(turn)}
    return bool(pending) and asked <= pending


def _ids(turn: Sequence[Shown], kind: str, name: str) -> set[str]:
    return {event[name] for event in turn if event["type"] == kind}


def _open(events: Sequence[Shown]) -> list[Shown]:
    """The questions that nobody has answered."""
    decided = _ids(events, "approval_resolved", "approvalId")
    asked = [event for event in events if event["type"] == ASKS]
    return [event for event in asked if event["approvalId"] not in decided]


def is_asked(events: Sequence[Shown], step: PersonStep) -> bool:
    """Whether the person can act: another agent may have asked something else before."""
    if step.verb in ("waits", "stops"):
        return True
    return any(step.tool_id in ("it", event["toolUseId"]) for event in _open(events))


def is_settled(seen: Sequence[Shown], more: Sequence[Shown], step: PersonStep) -> bool:
    """Whether what the person did was shown in `more`, and the turn is at rest after it."""
    if not is_at_rest([*seen, *more]):
        return False
    if step.verb == "waits":  # an approval may expire before anybody looks
        return not _open([*seen, *more])
    if step.verb == "stops" or not more:
        return bool(more)
    calls = {e["approvalId"]: e["toolUseId"] for e in [*seen, *more] if e["type"] == ASKS}
    resolved = [calls[e["approvalId"]] for e in more if e["type"] == "approval_resolved"]
    return bool(resolved) if step.tool_id == "it" else step.tool_id in resolved


def approval_of(events: Sequence[Shown], tool_id: str) -> str:
    """The id of the open approval for this call; `it` is the only one that is open."""
    meant = [event for event in _open(events) if tool_id in ("it", event["toolUseId"])]
    assert len(meant) == 1, f"{len(meant)} approvals are open for {tool_id!r}"
    return str(meant[0]["approvalId"])


def answer_of(step: PersonStep) -> dict[str, Any]:
    """The body of an answer, as every transport takes it."""
    match step.verb:
        case "edits":
            return {"approved": True, "args": step.value}
        case verb:
            return {"approved": verb == "approves", "reason": step.value}


async def decide(app: Turnlog, session_id: str, seen: Sequence[Shown], step: PersonStep) -> None:
    """As a Python program does it."""
    if step.verb == "stops":
        await app.stop_turn(LOCAL_USER, session_id)
    elif step.verb != "waits":
        approval_id = approval_of(seen, step.tool_id)
        await app.answer_approval(LOCAL_USER, approval_id, Decision(**answer_of(step)))


Until = Callable[[list[Shown]], bool]


async def until_at_rest(
    app: Turnlog, session_id: str, seen: Sequence[Shown], until: Until | None = None
) -> list[Shown]:
    """What is shown after `seen`, until the turn is over or waits again; or as `until` says."""
    more: list[Shown] = []
    until = until or (lambda more: bool(more) and is_at_rest([*seen, *more]))
    if until(more):
        return more
    async with asyncio.timeout(60):
        async for batch in app.follow(LOCAL_USER, session_id, parse(seen[-1]["cursor"])):
            more += [wire.decode(live.json) for live in batch]
            if until(more):
                break
    return more
