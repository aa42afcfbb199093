"""How much one user may ask for: turns at once, and messages a minute."""

import time
from collections import defaultdict, deque
from collections.abc import Callable

from turnlog.errors import TooMany

MINUTE = 60.0


class UserLimits:
    """Counts what each user starts. Nothing is remembered of users who are quiet."""

    def __init__(
        self,
        turns_at_once: int,
        messages_a_minute: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        with_files_a_minute: int = 30,
    ) -> None:
        self._turns_at_once = turns_at_once
        self._messages_a_minute = messages_a_minute
        self._with_files_a_minute = with_files_a_minute
        self._clock = clock
        self._running: defaultdict[str, int] = defaultdict(int)
        self._sent: defaultdict[str, deque[float]] = defaultdict(deque)
        self._sent_files: dict[str, deque[float]] = {}

    def start(self, user_id: str, *, with_files: bool = False) -> None:
        """Count a turn in. Raises TooMany, and counts nothing, above a limit."""
        if self._running[user_id] >= self._turns_at_once:
            raise TooMany(f"You have {self._turns_at_once} turns running. Wait for one.", 5)
        sent = self._recent(user_id)
        if len(sent) >= self._messages_a_minute:
            wait = int(sent[0] + MINUTE - self._clock()) + 1
            raise TooMany(f"More than {self._messages_a_minute} messages in a minute.", wait)
        if with_files:
            self._count_files(user_id)
        sent.append(self._clock())
        self._running[user_id] += 1

    def _count_files(self, user_id: str) -> None:
        """Images and PDFs cost more than text does, also where the turn fails."""
        for quiet in [user for user in self._sent_files if not self._recent_files(user)]:
            del self._sent_files[quiet]
        sent = self._sent_files.setdefault(user_id, deque())
        if len(sent) >= self._with_files_a_minute:
            wait = int(sent[0] + MINUTE - self._clock()) + 1
            most = self._with_files_a_minute
            raise TooMany(f"More than {most} messages with files in a minute.", wait)
        sent.append(self._clock())

    def resume(self, user_id: str) -> None:
        """Count in a turn that goes on: it was admitted when it began."""
        self._running[user_id] += 1

    def take_back(self, user_id: str, *, with_files: bool = False) -> None:
        """The newest message does not count: it was refused, or had been sent before."""
        if sent := self._sent.get(user_id):
            sent.pop()
        if with_files and (sent_files := self._sent_files.get(user_id)):
            sent_files.pop()

    def end(self, user_id: str) -> None:
        self._running[user_id] -= 1
        if not self._running[user_id]:
            del self._running[user_id]
        if not self._recent(user_id):
            self._sent.pop(user_id, None)

    def _recent_files(self, user_id: str) -> deque[float]:
        return self._young(self._sent_files[user_id])

    def _recent(self, user_id: str) -> deque[float]:
        return self._young(self._sent[user_id])

    def _young(self, sent: deque[float]) -> deque[float]:
        while sent and sent[0] <= self._clock() - MINUTE:
            sent.popleft()
        return sent
