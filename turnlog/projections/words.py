"""Values and decisions in words, for people who read a log.

A call's arguments are told in full, because somebody answers for them; of a result only the
first fields and records are. `turnlog export` has all of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnlog.events import kinds as k
from turnlog.events.base import Stamped

Args = dict[str, Any]
Asked = Mapping[str, k.ApprovalRequested]  # by approval id
# fmt: off
OUTCOMES = {
    "approved":  "allowed",
    "rejected":  "refused",
    "expired":   "expired",
    "withdrawn": "withdrawn",
}
# fmt: on


@dataclass(frozen=True)
class Most:
    """How much is told; None: all of it."""

    fields: int | None = None
    inner: int | None = None  # fields of a record in a list or in a field
    records: int | None = None
    letters: int | None = None


ALL = Most()
FIRST = Most(fields=10, inner=4, records=3, letters=80)


def asked_in(log: Iterable[Stamped]) -> Asked:
    questions = (entry.event for entry in log if isinstance(entry.event, k.ApprovalRequested))
    return {question.approval_id: question for question in questions}


def call(args: Args) -> str:
    """Every argument: `customer_number 10000, lines [(item_number 1896-S, quantity 2)]`."""
    return _fields(args, ALL.fields, ALL) if args else "nothing"


def result(value: Any) -> str:
    """The first of it."""
    match value:
        case dict() if value:
            return _fields(value, FIRST.fields, FIRST)
        case str():
            return value or "(empty)"
    return _told(value, FIRST)


def decision(event: k.ApprovalResolved, asked: Asked) -> str:
    """Who decided, why, and what they changed."""
    words = f"by {event.decided_by}"
    question = asked.get(event.approval_id)
    if isinstance(event.args, dict):
        words += f", changed: {changes(question.args if question else {}, event.args)}"
    return words + (f": {event.reason}" if event.reason else "")


def changes(before: Args, after: Args) -> str:
    """`city Chicago (was Boston), credit_limit 5000 (new)`."""
    told = [
        f"{name} {_told(value)} ({f'was {_told(before[name])}' if name in before else 'new'})"
        for name, value in after.items()
        if name not in before or before[name] != value
    ]
    left = [f"no {name} (was {_told(before[name])})" for name in before if name not in after]
    return ", ".join([*told, *left]) or "nothing"


def until(question: k.ApprovalRequested) -> str:
    return f"{datetime.fromisoformat(question.expires_at):%Y-%m-%d %H:%M} UTC"


def _fields(fields: Args, shown: int | None, most: Most) -> str:
    told = [f"{name} {_told(value, most)}" for name, value in list(fields.items())[:shown]]
    return ", ".join([*told, *_rest(len(fields) - len(told))])


def _told(value: Any, most: Most = ALL) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str():
            return _text(value, most.letters)
        case dict():
            return f"({_fields(value, most.inner, most)})"
        case list():
            told = [_told(one, most) for one in value[: most.records]]
            return f"[{', '.join([*told, *_rest(len(value) - len(told))])}]"
    return str(value)


def _text(text: str, longest: int | None) -> str:
    line = text.replace("\n", "⏎")
    shown = line[:longest]
    return (shown if shown == line else f"{shown}…") or "(empty)"


def _rest(more: int) -> list[str]:
    return [f"… {more} more"] if more > 0 else []
