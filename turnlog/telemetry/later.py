"""Records that are written together, a moment later: no turn waits for its log.

One thread takes what has come within a moment. It does not need the loop: where a tool holds that
up, the line that says which turn has started is written all the same.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from logging import LogRecord

MOMENT = 0.1  # seconds: so much of a log may be lost where the process is killed


class Later:
    """Keeps records, in order, until the moment is over or `now` is called."""

    def __init__(self, write: Callable[[Sequence[LogRecord]], None]) -> None:
        self._write = write
        self._kept: list[LogRecord] = []
        # Both may be taken again inside: what the collector of garbage finds may log, too.
        self._door = threading.RLock()  # to what is kept
        self._order = threading.RLock()  # of what is written
        self._some: queue.SimpleQueue[None] = queue.SimpleQueue()  # an item: something is kept
        self._thread: threading.Thread | None = None

    def add(self, record: LogRecord) -> None:
        with self._door:
            self._kept.append(record)
            is_first = len(self._kept) == 1
        if is_first:
            if self._thread is None:
                self._begin()
            self._some.put(None)

    def now(self, *more: LogRecord) -> None:
        """Write what is kept, and these behind it."""
        with self._order:
            with self._door:
                kept, self._kept = self._kept, []
            if kept or more:
                self._write((*kept, *more))

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="turnlog-log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            self._some.get()
            time.sleep(MOMENT)
            self.now()
