"""Who waits for something, the oldest first. One look at all of them, and no timer for each."""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Waiting(Generic[T]):
    """All of them may wait for the same time, so who came first is due first."""

    def __init__(self) -> None:
        self._since: dict[T, float] = {}

    def __len__(self) -> int:
        return len(self._since)

    def add(self, one: T) -> None:
        """From now on, if it does not wait already."""
        if one not in self._since:
            self._since[one] = asyncio.get_running_loop().time()

    def discard(self, one: T) -> None:
        self._since.pop(one, None)

    def overdue(self, seconds: float) -> list[T]:
        """Those who have waited for so long. They wait no more."""
        limit = asyncio.get_running_loop().time() - seconds
        due: list[T] = []
        for one, since in self._since.items():
            if since > limit:
                break
            due.append(one)
        for one in due:
            del self._since[one]
        return due
