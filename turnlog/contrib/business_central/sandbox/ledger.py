"""What was written to the sandbox, one line a request: carried out again, it is the same sandbox.

Every request that may change something is kept, also one that was refused: it may have used up
an id. Ids, numbers and etags come from counters and times from the ledger, so that what was
created is found again under the same ids.
"""

import logging
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

_log = logging.getLogger(__name__)
FILE = "erp-sandbox.jsonl"
_HEADERS = ("company", "content-type", "if-match", "isolation", "prefer")


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request, and when it was carried out. The first line is the making of the companies."""

    at: datetime
    method: str = ""
    path: str = ""
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    body: bytes = b""


class Ledger:
    """A file that only grows. The time is that of the request that is being carried out."""

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / FILE
        self._clock = clock
        self._at: datetime | None = None  # of a request that is carried out again

    def now(self) -> datetime:
        return self._at or self._clock()

    def replay(self, make: Callable[[], None], carry_out: Callable[[Kept], None]) -> None:
        """Make the companies as they were made, and carry out what came after."""
        entries = list(self._entries())
        if not entries:
            entries = [Kept(at=self._clock())]
            self._append(entries[0])
        first, *rest = entries
        self._at = first.at
        make()
        for entry in rest:
            self._at = entry.at
            carry_out(entry)
        self._at = None

    def begin(self) -> datetime:
        """The moment of a request, from now until `keep`."""
        self._at = self._clock()
        return self._at

    def keep(self, entry: Kept) -> None:
        """On disk before it is answered."""
        self._append(entry)
        self._at = None

    def _append(self, entry: Kept) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        handle = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _entries(self) -> Iterator[Kept]:
        """What was kept. A last line that was cut off by a crash was never answered: it goes."""
        raw = self._path.read_bytes() if self._path.exists() else b""
        whole, _, cut = raw.rpartition(b"\n")
        if cut:
            self._path.write_bytes(whole + b"\n" if whole else b"")
        for line in whole.splitlines():
            try:
                yield msgspec.json.decode(line, type=Kept)
            except msgspec.MsgspecError:
                _log.warning("a line of the sandbox's ledger cannot be read, and is left out")


def headers_of(headers: dict[str, str]) -> dict[str, str]:
    """Those that a request is carried out by. Tokens are not kept."""
    return {name: value for name, value in headers.items() if name.lower() in _HEADERS}
