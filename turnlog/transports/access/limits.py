"""How often one user may write, and how much may be open for one user at once.

Messages have a limit of their own beside it. A bucket for each user holds what may be done at
once, and fills up again within a minute. Where several nodes share a store, the bucket is there,
and a node takes some of it at once: so it asks the store for one write in twenty, and all nodes
together let hardly more pass than one would. Connections are counted by each node for itself.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from turnlog.errors import NotStored, TooMany
from turnlog.ports import SharedWrites

MINUTE = 60.0
MOST_USERS = 10_000  # that are remembered; whoever was quiet for a minute need not be
TAKEN = 20  # a node takes this part of the bucket at once, and one write at least
Bucket = tuple[float, float]  # what is left in it, and since when


class Connections:
    """Counts what each user has open here: requests under way, streams and sockets.

    Without it one user could take every file that the process may have open.
    """

    def __init__(self, at_once: int) -> None:
        self._most = at_once
        self._open: dict[str, int] = {}

    def open(self, user_id: str) -> None:
        """One more. Raises TooMany, and counts nothing, above the limit."""
        count = self._open.get(user_id, 0)
        if count >= self._most:
            raise TooMany(f"You have {self._most} connections open. Close some first.", 5)
        self._open[user_id] = count + 1

    def close(self, user_id: str) -> None:
        count = self._open.pop(user_id)
        if count > 1:
            self._open[user_id] = count - 1


class WriteLimits:
    """Counts the writes of each user. Its memory is bounded."""

    def __init__(
        self,
        a_minute: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        shared: SharedWrites | None = None,
    ) -> None:
        """`shared`: with other nodes; None: there are none."""
        self._most = a_minute
        self._clock = clock
        self._shared = shared
        self._buckets: dict[str, Bucket] = {}
        self._taken: dict[str, int] = {}  # of the shared buckets, and not used yet

    async def count(self, user_id: str) -> None:
        """One more write. Raises TooMany, and counts nothing, above the limit."""
        if self._shared is None:
            self._count_here(user_id)
        else:
            await self._count_together(self._shared, user_id)

    async def _count_together(self, shared: SharedWrites, user_id: str) -> None:
        taken = self._taken.pop(user_id, 0)
        if not taken:
            wanted = max(1, self._most // TAKEN)
            try:
                taken = await shared.take_writes(user_id, wanted=wanted, most=self._most)
            except NotStored:  # then the limit holds on each node
                self._count_here(user_id)
                return
            taken += self._taken.pop(user_id, 0)  # somebody else may have taken some meanwhile
            if taken < 1:
                raise self._too_many(1.0)
        if taken > 1:
            self._taken[user_id] = taken - 1  # the newest is last
            if len(self._taken) > MOST_USERS:
                del self._taken[next(iter(self._taken))]

    def _count_here(self, user_id: str) -> None:
        now = self._clock()
        before, at = self._buckets.pop(user_id, (self._most, now))
        left = min(self._most, before + (now - at) * self._most / MINUTE)
        self._buckets[user_id] = (left - 1 if left >= 1 else left, now)  # the newest is last
        if len(self._buckets) > MOST_USERS:
            self._forget(now)
        if left < 1:
            raise self._too_many(1 - left)

    def _too_many(self, missing: float) -> TooMany:
        wait = int(missing * MINUTE / self._most) + 1
        return TooMany(f"More than {self._most} changes in a minute.", wait)

    def _forget(self, now: float) -> None:
        """Those whose buckets are full, or else the one that was quiet for longest."""
        quiet = [user for user, (_, at) in self._buckets.items() if at <= now - MINUTE]
        for user in quiet or [next(iter(self._buckets))]:
            del self._buckets[user]


class Limits(NamedTuple):
    """What one user may do here, beside turns and messages."""

    writes: WriteLimits
    connections: Connections
