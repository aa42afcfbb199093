"""Which processes live: each holds a lock on a file of its own while it runs.

The system releases the lock when the process ends, however it ends: no heartbeat, no time-out.
"""

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


class Owners:
    """The processes that have opened one place, this one among them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.me = uuid.uuid4().hex

    def enter(self) -> None:
        """From now on this process counts as living. Sweeps up after those that died."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for other in self._folder.iterdir():
            self.lives(other.name)
        self._lock = _lock(self._folder / self.me)

    def leave(self) -> None:
        (self._folder / self.me).unlink(missing_ok=True)
        os.close(self._lock)

    def lives(self, owner: str) -> bool:
        """Whether that process still holds its lock."""
        path = self._folder / owner
        if not path.exists():
            return False
        try:
            os.close(_lock(path))
        except BlockingIOError:
            return True
        path.unlink(missing_ok=True)
        return False


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Of several processes that open a new place at once one makes it, and the others wait."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock(path: Path) -> int:
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    return handle
