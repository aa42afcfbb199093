"""The provider's bytes of every model call, beside the log, for audits. Off unless asked for.

One file a call, `raw/DAY/MESSAGE_ID.sse.gz`, compressed and written by a thread when the call
is over. Auditors read them again. Nothing is deleted here but what is erased: see
docs/diagnosis.md for what it takes up.
"""

import asyncio
import gzip
import logging
import os
import re
import secrets
import zlib
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from turnlog.errors import NotFound, TooLarge
from turnlog.ports import KeepRaw

_log = logging.getLogger(__name__)
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,120}")  # an id is the provider's: it may not be a path
MOST_BYTES = 4_000_000  # of one answer that is read again
_NOT_KEPT = (
    "No raw answer was kept here. Servers keep them with `keep_raw = true`, each for its own calls."
)
_IN_A_TERMINAL = "See it with `turnlog diagnose compare`."
AROUND = (0, 1, -1)  # days: a call may end after midnight


class Keeping(Protocol):
    """The settings that matter here."""

    @property
    def keep_raw(self) -> bool: ...
    @property
    def data(self) -> str: ...


class RawLedger:
    """A folder of raw answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="raw ledger")

    def keep(self, message_id: str, pieces: list[bytes]) -> None:
        """Returns at once. A call that got no id is named by the time and by chance."""
        if pieces:
            self._writer.submit(self._write, message_id, pieces, datetime.now(UTC))

    async def close(self) -> None:
        """Wait until all that was given is written."""
        await asyncio.to_thread(self._writer.shutdown)

    def _write(self, message_id: str, pieces: list[bytes], at: datetime) -> None:
        chance = secrets.token_hex(4)
        name = message_id if _SAFE.fullmatch(message_id) else f"call_{at:%H%M%S}_{chance}"
        folder = self._folder / f"{at:%Y-%m-%d}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # parents have no mode
            folder.mkdir(mode=0o700, exist_ok=True)
            unfinished = folder / f"{name}.{chance}.part"
            with open(unfinished, "xb", opener=_private) as file:
                file.write(gzip.compress(b"".join(pieces)))
            unfinished.rename(_free(folder, name, chance))
        except OSError as error:
            # The turn goes on: the log has what the model said.
            _log.error("the raw answer of %s could not be stored: %s", name, error)


class RawAnswers:
    """Reads what was kept, on this machine."""

    def __init__(self, settings: Keeping) -> None:
        self._folder = Path(settings.data) / "raw"

    async def of(self, message_id: str, at: str) -> bytes:
        """The bytes of the answer with this id, which came at about `at`.

        Raises NotFound where none were kept here, and TooLarge.
        """
        return await asyncio.to_thread(self._read, message_id, datetime.fromisoformat(at))

    def _read(self, message_id: str, at: datetime) -> bytes:
        if not _SAFE.fullmatch(message_id):
            raise NotFound(_NOT_KEPT)
        for days in AROUND:
            path = self._folder / f"{at + timedelta(days):%Y-%m-%d}" / f"{message_id}.sse.gz"
            try:
                with gzip.open(path) as file:
                    body = file.read(MOST_BYTES + 1)
            except FileNotFoundError:
                continue
            except (OSError, EOFError, zlib.error) as error:
                _log.error("the raw answer of %s could not be read: %s", message_id, error)
                raise NotFound(
                    "The raw answer cannot be read. The server's log says why."
                ) from None
            if len(body) > MOST_BYTES:
                raise TooLarge(f"The raw answer has more than {MOST_BYTES} bytes. {_IN_A_TERMINAL}")
            return body
        raise NotFound(_NOT_KEPT)


def forget(data: Path, message_ids: Iterable[str]) -> int:
    """Delete what was kept of these answers on this machine; how many it was."""
    named = {id for id in message_ids if _SAFE.fullmatch(id)}  # which has no dot in it
    found = [path for path in (data / "raw").glob("*/*") if path.name.partition(".")[0] in named]
    for path in found:
        path.unlink()
    return len(found)


@asynccontextmanager
async def keeping_raw(settings: Keeping) -> AsyncIterator[KeepRaw]:
    """Where raw answers go, if the settings want them; all are written when this is left."""
    if not settings.keep_raw:
        yield None
        return
    ledger = RawLedger(Path(settings.data) / "raw")
    try:
        yield ledger.keep
    finally:
        await ledger.close()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _free(folder: Path, name: str, chance: str) -> Path:
    """A provider may repeat an id; then the second file has a longer name."""
    path = folder / f"{name}.sse.gz"
    return folder / f"{name}.{chance}.sse.gz" if path.exists() else path
