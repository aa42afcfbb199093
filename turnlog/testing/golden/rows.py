"""The rows of a golden page's table: what was shown, one row an event."""

import re
from collections.abc import Sequence
from itertools import count

from turnlog.projections.transcript import Shown
from turnlog.testing.golden import attached

# Ids that are new with every run: of a conversing simulator's calls, and of the ERP's documents.
_MADE_UP = re.compile(r"\b(toolu_|TL-)(?:01[0-9a-f]{22}|[0-9A-F]{20})\b")

# What the table shows of an event, beside its name.
# fmt: off
KEY_FIELDS: dict[str, tuple[str, ...]] = {
    "user_message_sent": ("content", "files"),
    "thinking_complete": ("content",),
    "thinking":          ("content", "redacted"),
    "message_chunk":     ("citations",),
    "citations_found":   ("count", "citations"),
    "message":           ("content", "citations", "stopReason", "stopDetails"),
    "tool_use":          ("toolUseId", "toolName", "args"),
    "tool_result":       ("toolUseId", "success", "result", "error"),
    "approval_requested": ("toolUseId", "description"),
    "approval_resolved": ("approved", "decidedBy", "reason", "args"),
    "agent_changed":     ("from", "to"),
    "complete":          ("reason", "stopReason", "toolsUsed"),
    "error":             ("code", "error", "retryable"),
}
# fmt: on


def rows(live: Sequence[Shown], in_a_team: bool) -> list[tuple[str, ...]]:
    """One row an event; chunks that follow each other are one row, with an ellipsis."""
    shown: list[tuple[str, ...]] = []
    for event in live:
        name, state = event["type"], event["persistenceState"]
        if name.endswith("_chunk"):
            name += " …"
        row = (str(event.get("sequenceNumber", "")), name, state, _key_fields(event, in_a_team))
        if not (name.endswith("…") and shown and shown[-1] == row):
            shown.append(row)
    return _with_short_ids(shown)


def _with_short_ids(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Made-up ids, those of each kind numbered in the order of their coming."""
    short = short_ids(" ".join(row[-1] for row in rows))
    return [(*row[:-1], _MADE_UP.sub(lambda found: short[found[0]], row[-1])) for row in rows]


def short_ids(text: str) -> dict[str, str]:
    """Each made-up id of a text, and its short form: `toolu_1`, `TL-1`."""
    kinds = {found[0]: found[1] for found in _MADE_UP.finditer(text)}
    numbers = {kind: count(1) for kind in kinds.values()}
    return {found: f"{kind}{next(numbers[kind])}" for found, kind in kinds.items()}


def _key_fields(event: Shown, in_a_team: bool) -> str:
    names = KEY_FIELDS.get(event["type"], ())
    known = {"agent": event["agent"]["id"]} if in_a_team else {}
    known |= {name: event[name] for name in names if event.get(name) is not None}
    if files := known.pop("files", None):
        known["files"] = [file["name"] for file in files]
    if cited := known.pop("citations", None):
        known["citations"] = [attached.cited(citation) for citation in cited]
    told = (f"{name}={value!r}" for name, value in known.items())
    return ", ".join(told).replace("|", "\\|")
