"""How often one user may write. Messages have a limit of their own beside it.

A bucket for each user: it holds what may be done at once, and fills up again within a minute.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from turnlog.errors import TooMany

MINUTE = 60.0
MOST_USERS = 10_000  # that are remembered; whoever was quiet for a minute need not be


class _Bucket(NamedTuple):
    left: float
    at: float


class WriteLimits:
    """Counts the writes of each user. Its memory is bounded."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = a_minute
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def count(self, user_id: str) -> None:
        """One more write. Raises TooMany, and counts nothing, above the limit."""
        now = self._clock()
        before = self._buckets.pop(user_id, _Bucket(self._most, now))
        left = min(self._most, before.left + (now - before.at) * self._most / MINUTE)
        self._buckets[user_id] = _Bucket(left - 1 if left >= 1 else left, now)  # the newest is last
        if len(self._buckets) > MOST_USERS:
            self._forget(now)
        if left < 1:
            wait = int((1 - left) * MINUTE / self._most) + 1
            raise TooMany(f"More than {self._most} changes in a minute.", wait)

    def _forget(self, now: float) -> None:
        """Those whose buckets are full, or else the one that was quiet for longest."""
        quiet = [user for user, bucket in self._buckets.items() if bucket.at <= now - MINUTE]
        for user in quiet or [next(iter(self._buckets))]:
            del self._buckets[user]
