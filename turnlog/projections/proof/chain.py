"""The chain: numbers without a gap, seals that hold, and heads that were kept."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from turnlog.errors import UnknownEvent
from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.money import picousd
from turnlog.events.rows.record import NO_SEAL, Record, stamped
from turnlog.events.rows.seal import KEYED, Seals

_COSTS = ("cost_usd", "cost_so_far_usd")  # fields of events, beside `costs`
_MOST_DIGITS = 18  # before the point: nobody owes as much


def readable(rows: Iterable[Record]) -> tuple[list[Stamped], list[str]]:
    """The events of the rows, and in words which rows hold none."""
    log, unreadable = [], []
    for row in rows:
        try:
            entry = stamped(row)
            _count(entry.event)
            log.append(entry)
        except (UnknownEvent, ValueError, TypeError) as error:
            unreadable.append(f"number {row.seq} cannot be read: {error}")
    return log, unreadable


def _count(event: Event) -> None:
    """Raises ValueError where a cost cannot be counted: no price list gives such a one."""
    costs = [*getattr(event, "costs", ()), *(getattr(event, name, None) for name in _COSTS)]
    for cost in costs:
        if cost is not None and cost.is_finite() and cost.adjusted() > _MOST_DIGITS:
            raise ValueError("a cost is beyond measure")
        if cost is not None:
            picousd(cost)


def gaps(numbers: Iterable[int]) -> Iterator[int]:
    wanted = 0
    for number in numbers:
        yield from range(wanted, number)
        wanted = number + 1


def duplicates(rows: Sequence[Record], log: Sequence[Stamped]) -> Iterator[str]:
    yield from (f"number {n}" for n, times in Counter(r.seq for r in rows).items() if times > 1)
    yield from (f"event {e}" for e, times in Counter(r.event_id for r in rows).items() if times > 1)
    results = Counter(
        entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolResult)
    )
    yield from (f"result of tool {tool}" for tool, times in results.items() if times > 1)


def changed(rows: Sequence[Record], owner: str, seals: Seals) -> Iterator[str]:
    """Rows that are not what was written. A log never goes back to an older form of seals."""
    seal, oldest = NO_SEAL, 1
    for row in rows:
        form = seals.form(row, seal, owner)
        if form is None:
            yield f"number {row.seq} is not what was written, or the row before it is not"
        elif form < max(oldest, seals.least(row)):
            how = "not sealed with the key" if form < KEYED <= seals.least(row) else "sealed anew"
            yield f"number {row.seq} is {how}"
        elif row.is_archived:
            yield f"number {row.seq} lost its content: it is neither in the log nor in an archive"
        seal, oldest = row.seal, max(oldest, form or 1)


def unlike_head(seals: Mapping[int, bytes], seq: int, seal: str) -> str | None:
    """What is wrong where an auditor kept this head; more rows may have come since."""
    if seq not in seals:
        return f"number {seq} is gone, which was there when the heads were kept"
    if seals[seq].hex() != seal:
        return f"number {seq} is not what it was when the heads were kept"
    return None
