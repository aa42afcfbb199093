"""Events that are sent together: to send costs more than all that makes a frame.

Bytes for a client are made of none before it has room: one that does not read holds no copy of
what waits for it.
"""

from collections.abc import Sequence

from turnlog.ports import LiveEvent

MOST_TOGETHER = 16_384  # bytes of small events


def is_one_send(events: Sequence[LiveEvent]) -> bool:
    """Whether all of them are sent at once: one event of any size, or some small ones."""
    return len(events) == 1 or sum([len(live.json) for live in events]) <= MOST_TOGETHER


def sends_of(events: Sequence[LiveEvent]) -> list[Sequence[LiveEvent]]:
    """Those that are sent together, and then the next ones. None are one send too: a heartbeat."""
    if is_one_send(events):
        return [events]
    begins, size = [0], 0
    for place, live in enumerate(events):
        size += len(live.json)
        if size > MOST_TOGETHER and place > begins[-1]:
            begins.append(place)
            size = len(live.json)
    return [events[a:b] for a, b in zip(begins, [*begins[1:], None], strict=True)]
