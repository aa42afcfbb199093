"""Raw against ours: which field of the API is preserved, which is lost, what we added.

Computed from the values. A field is preserved when its values stand in the log, in their
order, under its name (or the name that we have for it) and in its content block. What is not,
is lost: by name if `claude_drops` has a reason, and otherwise it is a fault.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnlog.diagnosis.captures import Capture, Recorded
from turnlog.diagnosis.fields import (
    Groups,
    Json,
    Place,
    our_groups,
    raw_groups,
)
from turnlog.diagnosis.player import Played
from turnlog.engines.claude.drops import Lost, reason

# The API's names that have another one here; all others are the same, in snake_case.
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
    """The fate of one field over all calls and blocks of a capture."""

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
    """All fields of a capture: those of the API, and those that we added."""

    name: str
    fields: list[Row]
    added: list[str]
    problems: list[str]  # a cut answer that passed for a whole one, or the other way round

    def count(self, fate: str) -> int:
        return sum(row.fate == fate for row in self.fields)

    @property
    def ok(self) -> bool:
        return not self.problems and not self.count("LOST")


def compare(capture: Capture, played: Sequence[Played]) -> Comparison:
    """`played`: what the pipeline made of each call of the capture."""
    rows: dict[str, Row] = {}
    ours: dict[str, bool] = {}  # our paths, and whether any value of the API is there
    problems: list[str] = []
    earlier: list[Groups] = []
    for number, call in enumerate(capture.calls):
        made = played[number] if number < len(played) else Played()
        problems += [f"call {number}: {problem}" for problem in _problems(call, made)]
        sides = our_groups(made.log), our_groups(made.wire)
        for side in sides:
            ours |= {place.path: ours.get(place.path, False) for place in side}
        for path in _settle(call, sides, rows, earlier):
            ours[path] = True
    added = [path for path, known in ours.items() if not known]
    return Comparison(capture.name, list(rows.values()), added, problems)


def _problems(call: Recorded, made: Played) -> Iterable[str]:
    if call.whole and not made.whole:
        yield "the answer is whole, but was not taken for one"
    if made.whole and not call.whole:
        yield "the answer was cut, but was taken for a whole one"


def _settle(
    call: Recorded, sides: tuple[Groups, Groups], rows: dict[str, Row], earlier: list[Groups]
) -> set[str]:
    """Find every value of one call; returns our paths that hold any."""
    used: set[str] = set()
    messages = _messages(call.events)
    for events in messages:
        groups, restarted = raw_groups(events), events is not messages[-1]
        again = events is not messages[0]
        answer = _Answer(groups, list(earlier), not call.whole, restarted, again)
        earlier.append(groups)
        for place, values in answer.groups.items():
            row = rows.setdefault(place.path, Row(place.path))
            row.count += len(values)
            log, wire = (_found(place, values, side) for side in sides)
            if log:
                row.log |= log
                row.wire |= wire
                used |= log | wire
            elif (why := answer.reason(place, values)) is not None:
                row.reasons.add(why)
            else:
                row.faults += len(values)
    return used


@dataclass(frozen=True)
class _Answer:
    """What a reason for a loss may depend on."""

    groups: Groups
    earlier: list[Groups]  # of the answers before
    cut: bool
    restarted: bool
    again: bool

    def reason(self, place: Place, values: list[Any]) -> str | None:
        lost = Lost(
            path=place.path,
            values=values,
            later={other.path for other in self.groups},
            cut=self.cut,
            restarted=self.restarted,
            again=self.again,
            repeated=any(_holds(held, values) for held in self._others(place)),
        )
        return reason(lost)

    def _others(self, place: Place) -> Iterator[list[Any]]:
        """The same field in other blocks, and in the answers before."""
        for groups in (*self.earlier, self.groups):
            for other, held in groups.items():
                same = groups is self.groups and other.block == place.block
                if other.path == place.path and not same:
                    yield held


def _messages(events: Sequence[Json]) -> list[list[Json]]:
    """The events, cut where a message is begun again."""
    messages: list[list[Json]] = [[]]
    for event in events:
        begun = any(each["type"] == "message_start" for each in messages[-1])
        if event["type"] == "message_start" and begun:
            messages.append([])
        messages[-1].append(event)
    return messages


def _found(place: Place, values: list[Any], side: Groups) -> set[str]:
    """Our paths that hold these values, under a name that fits, in this block or in none."""
    names = {place.name, *OUR_NAMES.get(place.name, ())}
    return {
        ours.path
        for ours, held in side.items()
        if ours.name in names and ours.block in (place.block, None) and _holds(held, values)
    }


def _holds(held: list[Any], values: list[Any]) -> bool:
    """Whether the values are among those held, in their order, whole or joined."""
    rest = iter(held)
    if all(any(_same(one, value) for one in rest) for value in values):
        return True
    if not all(isinstance(value, str) for value in (*held, *values)):
        return False
    joined = "".join(values)
    return joined != "" and joined in "".join(held)


def _same(one: Any, value: Any) -> bool:
    return type(one) is type(value) and bool(one == value)
