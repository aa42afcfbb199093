"""Records that are written together, a moment later: no turn waits for its log.

One thread takes what has come within a moment. It does not need the loop: where a tool holds that
up, the line that says which turn has started is written all the same.

What the collector of garbage finds may log, too, in the middle of any step below, and in any
thread. So whoever keeps a record holds no lock, and nothing is lost whoever comes in between.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from logging import LogRecord

MOMENT = 0.1  # seconds: so much of a log may be lost where the process is killed


class Later:
    """Keeps records, in order, until the moment is over or `now` is called."""

    def __init__(self, write: Callable[[Sequence[LogRecord]], None]) -> None:
        self._write = write
        self._kept: deque[LogRecord] = deque()
        self._order = threading.RLock()  # of what is written
        self._is_awake = False  # the thread: it looks at what is kept after it has said it is not
        self._some: queue.SimpleQueue[None] = queue.SimpleQueue()  # an item: something is kept
        self._thread: threading.Thread | None = None

    def add(self, record: LogRecord) -> None:
        self._kept.append(record)
        if not self._is_awake:
            self._is_awake = True
            if self._thread is None:
                self._begin()
            self._some.put(None)

    def now(self, *more: LogRecord) -> None:
        """Write what is kept, and these behind it."""
        with self._order:
            if records := [*self._taken(), *more]:
                self._write(records)

    def _taken(self) -> Iterator[LogRecord]:
        with suppress(IndexError):  # who came in between has taken the rest
            for _ in range(len(self._kept)):
                yield self._kept.popleft()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="turnlog-log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            self._some.get()
            time.sleep(MOMENT)
            self._is_awake = False
            self.now()
