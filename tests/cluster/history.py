"""Whether what clients saw can have happened, in the manner of Jepsen's Elle.

A session's log is a list that is only appended to. So every read is a beginning of it; a read that
begins when another one is over sees as much, at whichever node; what was acknowledged before is in
it; and what was asked after an acknowledgement stands behind it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True)
class Read:
    """One reload: the ids of what was there, and when it was asked for and had."""

    began: float
    ended: float
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """One question that was acknowledged."""

    began: float
    ended: float
    message: str


@dataclass
class History:
    """What one client did and saw, in one session."""

    reads: list[Read] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)


def anomalies(history: History, log: Sequence[tuple[str, str]]) -> Iterator[str]:
    """`log`: the id of each event that is shown, and of a question also its words."""
    ids = [event_id for event_id, _ in log]
    places = {words: place for place, (_, words) in enumerate(log) if words}
    for read in history.reads:
        if list(read.ids) != ids[: len(read.ids)]:
            yield f"a read of {len(read.ids)} events is no beginning of the log"
    yield from _steps_back(history.reads)
    for question in history.questions:
        place = places.get(question.message)
        if place is None:
            yield f"{question.message!r} was acknowledged, and is not there"
            continue
        late = [r for r in history.reads if r.began > question.ended and len(r.ids) <= place]
        if late:
            yield f"{question.message!r} was acknowledged, and a later read has it not"
    for first, second in pairwise(sorted(history.questions, key=lambda each: each.began)):
        there = places.get(first.message, -1), places.get(second.message, len(log))
        if first.ended < second.began and there[0] > there[1]:
            yield f"{second.message!r} was asked later, and stands before {first.message!r}"


def _steps_back(reads: Sequence[Read]) -> Iterator[str]:
    """A read that sees less than one that was over before it began."""
    seen: list[Read] = []
    for read in sorted(reads, key=lambda each: each.began):
        before = [other for other in seen if other.ended < read.began]
        most = max((len(other.ids) for other in before), default=0)
        if len(read.ids) < most:
            yield f"a read has {len(read.ids)} events, and one before it had {most}"
        seen.append(read)
