"""What people do on a golden page while a turn waits for them, and when it is at rest again."""

import asyncio
from collections.abc import Sequence
from typing import Any

from turnlog.app import Turnlog
from turnlog.events.cursor import parse
from turnlog.ports import Decision
from turnlog.projections.transcript import Shown
from turnlog.testing.script import PersonStep
from turnlog.transports import wire
from turnlog.transports.auth import LOCAL_USER

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
    asked = [event for event in events if event["type"] == "approval_requested"]
    return [event for event in asked if event["approvalId"] not in decided]


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


async def until_at_rest(app: Turnlog, session_id: str, seen: Sequence[Shown]) -> list[Shown]:
    """What is shown after `seen`, until the turn is over or waits again."""
    more: list[Shown] = []
    async with asyncio.timeout(60):
        async for batch in app.follow(LOCAL_USER, session_id, parse(seen[-1]["cursor"])):
            more += [wire.decode(live.json) for live in batch]
            if more and is_at_rest([*seen, *more]):
                break
    return more
