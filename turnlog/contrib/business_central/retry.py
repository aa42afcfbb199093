"""When a request is sent again, and after how long.

429 means that nothing was done, so anything is sent again. Behind 502, 503 and 504 a write may
have happened: only what reads is.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan

MOST_TRIES = 4
LONGEST_PAUSE = 15.0  # seconds; who is told to wait longer is told so, and does not wait
FIRST_PAUSE = 0.5  # seconds, doubled each time, where nothing is said
_READS = frozenset({"GET"})
_ALL = frozenset({"GET", "POST", "PATCH", "DELETE"})
AGAIN = {429: _ALL, 502: _READS, 503: _READS, 504: _READS}


def pause(method: str, status: int, retry_after: str | None, tried: int) -> float | None:
    """Seconds to wait before the next try; None: this was the last one."""
    if method not in AGAIN.get(status, ()) or tried >= MOST_TRIES:
        return None
    wait = _seconds(retry_after)
    if wait is None:
        wait = FIRST_PAUSE * 2 ** (tried - 1)
    return wait if wait <= LONGEST_PAUSE else None


def _seconds(retry_after: str | None) -> float | None:
    """A number of seconds, or a date."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
        return None if isnan(seconds) else max(0.0, seconds)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(retry_after)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
