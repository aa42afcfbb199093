"""What a turn has to found a claim on: its tool calls, and what their results hold.

Results may be huge. They are read up to a bound; beyond it a turn counts as unread, and
whoever compares numbers with it stays silent.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.internal import is_reserved
from turnlog.projections.tool_words import VERBS, words_of

MOST_VALUES = 20_000  # of all results together
MOST_CHARACTERS = 200_000
_VERBS = VERBS[True] | VERBS[False]
_NAMES_ONE = re.compile(r"(?:^|_)(?:id|no|number|nr|code|key)$|(?:Id|No|Number|Code)$")
_DIGITS = re.compile(r"(?<![\w.,-])\d{1,6}(?![\w-]|[.,]\d)")


class Call(NamedTuple):
    """A tool that was called, and what became of it."""

    name: str
    args: dict[str, Any]
    succeeded: bool
    result: Any

    @property
    def reads(self) -> bool:
        """Whether its name says that it changes nothing."""
        said = (word in VERBS[False] for word in words_of(self.name) if word in _VERBS)
        return next(said, False)


@dataclass
class Held:
    """What values hold: the lengths of their lists, their numbers, their words."""

    lengths: list[int] = field(default_factory=list)
    groups: set[int] = field(default_factory=set)  # how many of a list have a value in common
    numbers: list[int] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)  # results that are text, and no JSON
    words: list[str] = field(default_factory=list)
    values: int = 0
    characters: int = 0

    @property
    def cut(self) -> bool:
        return self.values > MOST_VALUES or self.characters > MOST_CHARACTERS

    @property
    def text(self) -> str:
        return "\n".join(self.words)

    def take(self, value: Any) -> None:
        """Read a result with all that is in it, a level at a time; no recursion, it may be deep."""
        level = list(_unpacked(value))
        self.loose += [text for text in level if isinstance(text, str)]
        while level and not self.cut:
            self.lengths.append(sum(len(each) for each in level if isinstance(each, list)))
            level = [inner for each in level for inner in self._inside(each)]

    def _inside(self, value: Any) -> Sequence[Any]:
        self.values += 1
        match value:
            case dict():
                return self._fields(value)
            case list() | tuple():
                self.lengths.append(len(value))
                self.groups |= _groups(value)
                return list(value)
            case bool() | None:
                return ()
        self._word(str(value))
        self.numbers += [int(found) for found in _DIGITS.findall(str(value)[:2000])]
        return ()

    def _fields(self, value: dict[Any, Any]) -> Sequence[Any]:
        self._word(" ".join(map(str, value)))
        if all(isinstance(each, dict | list) for each in value.values()):  # keyed by id or name
            self.lengths.append(len(value))
        named = [name for name in value if _NAMES_ONE.search(str(name))]
        self._word(" ".join(str(value[name]) for name in named))
        return [each for name, each in value.items() if name not in named]

    def _word(self, text: str) -> None:
        self.characters += len(text)
        if not self.cut:
            self.words.append(text)


def calls_of(events: Iterable[Event]) -> list[Call]:
    """Each call with its result. A write in doubt counts as done once a person has said so."""
    events = list(events)
    results = {e.tool_use_id: e for e in events if isinstance(e, k.ToolResult)}
    settled = {e.tool_use_id for e in events if isinstance(e, k.ToolSettled) and e.happened}
    edited = dict(_edited(events))
    return [
        Call(
            e.tool_name,
            edited.get(e.tool_use_id, e.args),
            e.tool_use_id in settled or _succeeded(results.get(e.tool_use_id)),
            result.result if (result := results.get(e.tool_use_id)) else None,
        )
        for e in events
        if isinstance(e, k.ToolUse) and not is_reserved(e.tool_name)
    ]


def _succeeded(result: k.ToolResult | None) -> bool:
    return result is not None and result.success and not result.in_doubt


def _edited(events: Iterable[Event]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments that a person changed, by call."""
    asked: dict[str, str] = {}
    for event in events:
        match event:
            case k.ApprovalRequested(approval_id=approval, tool_use_id=tool):
                asked[approval] = tool
            case k.ApprovalResolved(approval_id=approval, args=args):
                if args is not UNSET and approval in asked:
                    yield asked[approval], args


def held_by(values: Iterable[Any]) -> Held:
    held = Held()
    for value in values:
        held.take(value)
    return held


def does(call: Call, tools: frozenset[str]) -> bool:
    """Whether the call may be such work. A name that says nothing may be any work."""
    words = words_of(call.name)
    for word in words:
        if word in tools or word in VERBS[True]:
            return bool(tools & {*words, *_short(call.args)})
        if word in VERBS[False]:
            return False
    return True


def is_for_one(call: Call) -> bool:
    """Whether its arguments name the one thing that it was for, and no other."""
    named = any(_NAMES_ONE.search(name) or name in ("name", "title") for name in call.args)
    return named and not any(isinstance(value, list | dict) for value in call.args.values())


def _short(args: dict[str, Any]) -> Iterator[str]:
    """Arguments of one word, such as `{"action": "delete"}`."""
    return (v.lower() for v in args.values() if isinstance(v, str) and v.isalpha())


def _unpacked(value: Any) -> Iterator[Any]:
    """JSON that comes as text, and the text blocks of tool servers, as what they stand for."""
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        value = value["content"]
    match value:
        case str():
            yield _parsed(value)
        case [{"type": "text"}, *_]:
            yield from (_parsed(b.get("text")) if isinstance(b, dict) else b for b in value)
        case _:
            yield value


def _parsed(text: Any) -> Any:
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text[:MOST_CHARACTERS])
    except (msgspec.DecodeError, RecursionError):
        return text


def _groups(values: Sequence[Any]) -> set[int]:
    """In how many of the values each field has the same value."""
    fields = (
        (name, str(value))
        for each in values[:2000]
        if isinstance(each, dict)
        for name, value in each.items()
        if isinstance(value, str | int | None)
    )
    return set(Counter(fields).values())
