"""Who reads nothing of an answer is hung up on: connection and answer would stay for ever.

Whoever reads slowly is left alone, and what comes of a stream can be asked for again. nginx gives
clients the same time (`send_timeout`).
"""

from collections.abc import Iterable
from typing import Any

from turnlog.transports.http.serving.head_deadline import HeadDeadline

PATIENCE = 60.0  # seconds


class Unread:
    """What waits for those who do not read, from one look to the next."""

    def __init__(self) -> None:
        self._waiting: dict[HeadDeadline, tuple[object, float]] = {}  # what, and since when

    def hang_up(self, connections: Iterable[Any], now: float) -> None:
        """On those for whom the same has waited for too long. `now`: by the loop's clock."""
        before, self._waiting = self._waiting, {}
        for each in [*connections]:
            if not isinstance(each, HeadDeadline) or (left := _left(each)) is None:
                continue
            known, since = before.get(each, (left, now))
            if left != known:
                since = now
            if now - since >= PATIENCE:
                each.transport.abort()
            else:
                self._waiting[each] = left, since


def _left(connection: HeadDeadline) -> object | None:
    """What is left to be read, and since which pause. None: the client reads."""
    flow, transport = connection.flow, connection.transport
    if not (flow.write_paused or transport.is_closing()):
        return None
    return flow.pause, transport.get_write_buffer_size()
