"""Which processes live: each holds a lock on a file of its own while it runs.

The system releases the lock when the process ends, however it ends: no heartbeat, no time-out.
One more lock is for the server, of which a folder has one.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from turnlog.errors import StoreTaken
from turnlog.events.clock import now

SERVER_LOCK = "server.lock"


class Owners:
    """The processes that have opened one place, this one among them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.me = secrets.token_hex(8)  # short: each row of `turns` keeps one

    def enter(self) -> None:
        """From now on this process counts as living. Sweeps up after those that died.

        One at a time (see `alone`): a file that has no lock yet looks like a dead process's.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in self._folder.iterdir():
            if not self.lives(other.name):
                other.unlink(missing_ok=True)
        self._lock = _lock(self._folder / self.me)

    def leave(self) -> None:
        (self._folder / self.me).unlink(missing_ok=True)
        os.close(self._lock)

    def lives(self, owner: str) -> bool:
        """Whether that process still holds its lock."""
        return _is_locked(self._folder / owner)

    def anybody(self) -> bool:
        """Whether any process lives here."""
        files = self._folder.iterdir() if self._folder.exists() else ()
        return any(_is_locked(file) for file in files)


class Holder(msgspec.Struct, frozen=True):
    """Who runs turns in a folder."""

    pid: int
    address: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid}, {self.address}, since {self.since}"


class ServerLock:
    """The right to run turns in a folder: one at a time has it, and says who it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self, address: str) -> None:
        """Raises StoreTaken, which names the one who has it."""
        try:
            handle = _lock(self._path)
        except BlockingIOError:
            folder = str(self._path.parent)
            raise StoreTaken(
                f"Another server works in {folder!r}: {self._holder()}."
                " Stop it, or give this one another --data folder."
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, msgspec.json.encode(Holder(os.getpid(), address, now())))
        self._handle = handle

    def release(self) -> None:
        """The file stays: who waits for a lock must not wait for one that was unlinked."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def _holder(self) -> str:
        holder = _holder(self._path)
        return str(holder) if holder else "one that is just starting"


def server_in(folder: Path) -> str | None:
    """The address of the server that works in this folder; None: there is none."""
    path = folder / SERVER_LOCK
    holder = _holder(path) if _is_locked(path) else None
    return holder.address if holder else None


def _holder(path: Path) -> Holder | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


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


def _is_locked(path: Path) -> bool:
    """Asked with a lock that others may share, so that those who ask do not mislead each other."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:  # another user's: who cannot be asked may live
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
