"""What a person sees: events as the wire shows them, folded into a screen.

Live and reloaded events fold to the same screen, because every transient event is only a
draft of a kept one that follows and takes its place. The web UI has the same fold.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from turnlog.events.grammar import GOES_ON

Shown = dict[str, Any]  # one event, as the wire has it


@dataclass
class TurnView:
    """One question with its answer. `items` is settled; `drafts` is still being written."""

    turn_id: str
    question: str = ""
    state: str = "running"  # running | waiting | done | failed
    error: str | None = None
    items: list[Shown] = field(default_factory=list)
    drafts: list[Shown] = field(default_factory=list)
    tokens: int = 0


def transcript(events: Iterable[Shown]) -> list[TurnView]:
    """The screen after these events, one view a turn, in the order the turns began."""
    turns: dict[str, TurnView] = {}
    for event in events:
        turn_id = event["turnId"]
        turn = turns.get(turn_id) or turns.setdefault(turn_id, TurnView(turn_id))
        rule = _RULES.get(event["type"])
        if rule:
            rule(turn, event)
    return list(turns.values())


def _asked(turn: TurnView, event: Shown) -> None:
    turn.question = event["content"]


def _drafted(turn: TurnView, event: Shown) -> Shown:
    """The answer that this is a piece of. Several may be written at the same time."""
    for draft in turn.drafts:
        if draft["messageId"] == event["messageId"]:
            return draft
    turn.drafts.append({"messageId": event["messageId"], "agent": event["agent"], "parts": []})
    return turn.drafts[-1]


def _piece(kind: str, turn: TurnView, event: Shown) -> None:
    parts = _drafted(turn, event)["parts"]
    if not parts or (parts[-1]["kind"], parts[-1]["block"]) != (kind, event["blockIndex"]):
        block = event["blockIndex"]
        parts.append({"kind": kind, "block": block, "content": "", "citations": []})
    parts[-1]["content"] += event.get("content", "")
    parts[-1]["citations"] += map(_source, event.get("citations") or ())


def _thinking_piece(turn: TurnView, event: Shown) -> None:
    _piece("thinking", turn, event)


def _message_piece(turn: TurnView, event: Shown) -> None:
    _piece("message", turn, event)


def _thinking(turn: TurnView, event: Shown) -> None:
    for draft in turn.drafts:
        if draft["messageId"] == event["messageId"]:
            key = ("thinking", event["blockIndex"])
            draft["parts"] = [p for p in draft["parts"] if (p["kind"], p["block"]) != key]
    names = ("messageId", "content", "blockIndex", "duration", "redacted", "agent")
    item = {"kind": "thinking"} | {name: event[name] for name in names}
    turn.items.append(item | {"thinkingTokens": event.get("thinkingTokens")})


def _message(turn: TurnView, event: Shown) -> None:
    turn.drafts = [d for d in turn.drafts if d["messageId"] != event["messageId"]]
    names = ("messageId", "content", "stopReason", "model", "tokenUsage", "costUsd", "agent")
    item = {"kind": "message"} | {name: event[name] for name in names} | {"parts": parts_of(event)}
    if "stopDetails" in event:  # why the model refused
        item["stopDetails"] = event["stopDetails"]
    turn.items.append(item)
    turn.tokens += event["tokenUsage"]["totalTokens"]
    if not _undecided(turn):  # another agent may have answered while a person is asked
        turn.state = "running" if event["stopReason"] in GOES_ON else "done"


def parts_of(message: Shown) -> list[Shown]:
    """The text of a kept message block by block, each with the sources that it cites.

    These are the very pieces that were streamed: a citation stands behind the words it is for.
    """
    return [
        {
            "kind": "message",
            "block": span["blockIndex"],
            "content": message["content"][span["start"] : span["end"]],
            "citations": [_source(c) for c in message["citations"] if _is_in(c, span)],
        }
        for span in message["blocks"]
        if span["end"] > span["start"] or any(_is_in(c, span) for c in message["citations"])
    ]


def _is_in(citation: Shown, span: Shown) -> bool:
    return bool(span["start"] <= citation["start"] and citation["end"] <= span["end"]) and (
        citation["blockIndex"] == span["blockIndex"]
    )


def _source(citation: Shown) -> Shown:
    """A citation without its place: the part that it stands in says that."""
    return {name: v for name, v in citation.items() if name not in ("blockIndex", "start", "end")}


def _tool_use(turn: TurnView, event: Shown) -> None:
    names = ("toolUseId", "toolName", "args", "agent")
    turn.items.append({"kind": "tool"} | {name: event[name] for name in names})


def _tool_result(turn: TurnView, event: Shown) -> None:
    for item in turn.items:
        if item["kind"] == "tool" and item["toolUseId"] == event["toolUseId"]:
            item |= {name: event.get(name) for name in ("result", "success", "error", "duration")}


def _approval_requested(turn: TurnView, event: Shown) -> None:
    names = ("approvalId", "toolUseId", "description", "expiresAt")
    turn.items.append({"kind": "approval"} | {name: event[name] for name in names})
    turn.state = "waiting"


def _approval_resolved(turn: TurnView, event: Shown) -> None:
    for item in turn.items:
        if item["kind"] == "approval" and item["approvalId"] == event["approvalId"]:
            item |= {name: event.get(name) for name in ("approved", "decidedBy", "reason", "args")}
    turn.state = "waiting" if _undecided(turn) else "running"


def _undecided(turn: TurnView) -> bool:
    return any(item["kind"] == "approval" and "approved" not in item for item in turn.items)


def _complete(turn: TurnView, event: Shown) -> None:
    turn.state = "done"


def _error(turn: TurnView, event: Shown) -> None:
    turn.drafts = []
    turn.state = "failed"
    turn.error = event["error"]


_RULES = {
    "user_message_sent": _asked,
    "thinking_start": _thinking_piece,
    "thinking_chunk": _thinking_piece,
    "message_chunk": _message_piece,
    "thinking": _thinking,
    "message": _message,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "approval_requested": _approval_requested,
    "approval_resolved": _approval_resolved,
    "complete": _complete,
    "error": _error,
}
