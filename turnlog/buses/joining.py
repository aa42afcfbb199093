"""Chunks that wait for one who reads late: the adjacent ones of a block as one."""

from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.events.base import Stamped
from turnlog.events.chunks import as_one
from turnlog.ports import Encode, LiveEvent

UNMADE = b""  # JSON that nobody needs at the moment


def joined(waiting: Sequence[LiveEvent], encode: Encode) -> list[LiveEvent]:
    """Adjacent chunks of one block as one, which stands where the last of them stood."""
    runs: list[list[LiveEvent]] = []
    for event in waiting:
        if runs and _continues(runs[-1][-1].entry, event.entry):
            runs[-1].append(event)
        else:
            runs.append([event])
    return [_made(run[0], encode) if len(run) == 1 else _one(run, encode) for run in runs]


def _made(event: LiveEvent, encode: Encode) -> LiveEvent:
    return event if event.json is not UNMADE else LiveEvent(event.entry, encode(event.entry))


def _continues(last: Stamped, entry: Stamped) -> bool:
    return last.turn_id == entry.turn_id and as_one(last.event, entry.event) is not None


def _one(run: Sequence[LiveEvent], encode: Encode) -> LiveEvent:
    content = "".join(event.entry.event.content for event in run)  # type: ignore[attr-defined]  # chunks
    event = replace(run[0].entry.event, content=content)
    last = run[-1].entry
    entry = replace(last, envelope=replace(last.envelope, event=event))
    return LiveEvent(entry, encode(entry))
