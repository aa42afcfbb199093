"""Compares the API's events with ours: which fields are preserved, lost, or added by us.

The comparison is of values. A field is preserved if the log holds its values in the same order,
under its name (or our name for it), in its content block. Otherwise it is lost: by name if
`drops.py` has a reason for it, and without a name if not, which is a fault.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnlog.diagnosis.captures import Capture, RecordedCall
from turnlog.diagnosis.fields import Field, Groups, Json, our_groups, raw_groups
from turnlog.diagnosis.player import PlayedCall
from turnlog.engines.claude.drops import Lost, reason

# Our names for fields of the API, where they differ. All others are the same in snake_case.
OUR_NAMES: dict[str, tuple[str, ...]] = {
    "text": ("content",),
    "thinking": ("content",),
    "data": ("signature",),
    "id": ("message_id", "tool_use_id"),
    "name": ("tool_name",),
    "index": ("block_index",),
    "partial_json": ("input", "args"),
    "cache_creation_input_tokens": ("cache_write_tokens",),
    "cache_read_input_tokens": ("cache_read_tokens",),
}


@dataclass
class Row:
    """What happened to one field, over all calls and blocks of a capture."""

    path: str
    count: int = 0
    log: set[str] = field(default_factory=set)  # our paths that hold it
    wire: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)  # why some of it is lost
    faults: int = 0  # values lost without a reason

    @property
    def fate(self) -> str:
        if self.faults:
            return "LOST"
        return "lost" if self.reasons else "preserved"


@dataclass
class Comparison:
    """All fields of a capture: the API's, and those that we added."""

    name: str
    fields: list[Row]
    added: list[str]
    problems: list[str]  # answers that were cut and taken for whole, or the other way round

    def count(self, fate: str) -> int:
        return sum(row.fate == fate for row in self.fields)

    @property
    def ok(self) -> bool:
        return not self.problems and not self.count("LOST")


def compare(capture: Capture, played: Sequence[PlayedCall]) -> Comparison:
    """Compare a capture with the events that the pipeline made of each of its calls."""
    rows: dict[str, Row] = {}
    ours: dict[str, bool] = {}  # our paths, and whether any value of the API is there
    problems: list[str] = []
    earlier: list[Groups] = []
    for number, call in enumerate(capture.calls):
        events = played[number] if number < len(played) else PlayedCall()
        problems += [f"call {number}: {problem}" for problem in _problems(call, events)]
        sides = our_groups(events.log), our_groups(events.wire)
        for side in sides:
            ours |= {each.path: ours.get(each.path, False) for each in side}
        for path in _settle(call, sides, rows, earlier):
            ours[path] = True
    added = [path for path, known in ours.items() if not known]
    return Comparison(capture.name, list(rows.values()), added, problems)


def _problems(call: RecordedCall, ours: PlayedCall) -> Iterable[str]:
    if call.whole and not ours.whole:
        yield "the answer is whole, but was not taken for one"
    if ours.whole and not call.whole:
        yield "the answer was cut, but was taken for a whole one"


def _settle(
    call: RecordedCall, sides: tuple[Groups, Groups], rows: dict[str, Row], earlier: list[Groups]
) -> set[str]:
    """Look for every value of one call. Returns our paths that hold any of them."""
    used: set[str] = set()
    messages = _messages(call.events)
    for events in messages:
        groups, restarted = raw_groups(events), events is not messages[-1]
        again = events is not messages[0]
        answer = _Answer(groups, list(earlier), not call.whole, restarted, again)
        earlier.append(groups)
        for raw, values in answer.groups.items():
            row = rows.setdefault(raw.path, Row(raw.path))
            row.count += len(values)
            log, wire = (_paths_with(raw, values, side) for side in sides)
            if log:
                row.log |= log
                row.wire |= wire
                used |= log | wire
            elif (why := answer.reason(raw, values)) is not None:
                row.reasons.add(why)
            else:
                row.faults += len(values)
    return used


@dataclass(frozen=True)
class _Answer:
    """The facts that a reason for a loss may depend on."""

    groups: Groups
    earlier: list[Groups]  # of the answers before
    cut: bool
    restarted: bool
    again: bool

    def reason(self, raw: Field, values: list[Any]) -> str | None:
        lost = Lost(
            path=raw.path,
            values=values,
            later={other.path for other in self.groups},
            cut=self.cut,
            restarted=self.restarted,
            again=self.again,
            repeated=any(_holds(others, values) for others in self._other_values(raw)),
        )
        return reason(lost)

    def _other_values(self, raw: Field) -> Iterator[list[Any]]:
        """The values of the same field in other blocks and in earlier answers."""
        for groups in (*self.earlier, self.groups):
            for other, values in groups.items():
                same = groups is self.groups and other.block == raw.block
                if other.path == raw.path and not same:
                    yield values


def _messages(events: Sequence[Json]) -> list[list[Json]]:
    """The events of each message. A second message_start begins another one."""
    messages: list[list[Json]] = [[]]
    for event in events:
        begun = any(each["type"] == "message_start" for each in messages[-1])
        if event["type"] == "message_start" and begun:
            messages.append([])
        messages[-1].append(event)
    return messages


def _paths_with(raw: Field, values: list[Any], side: Groups) -> set[str]:
    """Our paths that hold these values under a fitting name, in this block or in none."""
    names = {raw.name, *OUR_NAMES.get(raw.name, ())}
    return {
        ours.path
        for ours, our_values in side.items()
        if ours.name in names and ours.block in (raw.block, None) and _holds(our_values, values)
    }


def _holds(ours: list[Any], values: list[Any]) -> bool:
    """Whether our values hold these, in their order, each by itself or joined."""
    rest = iter(ours)
    if all(any(_is_same(our_value, value) for our_value in rest) for value in values):
        return True
    if not all(isinstance(value, str) for value in (*ours, *values)):
        return False
    joined = "".join(values)
    return joined != "" and joined in "".join(ours)


def _is_same(our_value: Any, value: Any) -> bool:
    return type(our_value) is type(value) and bool(our_value == value)
