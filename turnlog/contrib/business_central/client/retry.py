"""Whether a request is sent again, and after how long.

After 429 Business Central has done nothing, so every request is sent again. After 502, 503 and 504
a write may have happened, so only reads are sent again.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan

MOST_TRIES = 4
LONGEST_PAUSE = 15.0  # seconds; a longer wait is reported instead of waited for
FIRST_PAUSE = 0.5  # seconds, doubled each time, where there is no Retry-After
_READS = frozenset({"GET"})
_ALL = frozenset({"GET", "POST", "PATCH", "DELETE"})
AGAIN = {429: _ALL, 502: _READS, 503: _READS, 504: _READS}


def pause(method: str, status: int, retry_after: str | None, tried: int) -> float | None:
    """Seconds to wait before the next try, or None if this was the last one."""
    if method not in AGAIN.get(status, ()) or tried >= MOST_TRIES:
        return None
    wait = _seconds(retry_after)
    if wait is None:
        wait = FIRST_PAUSE * 2 ** (tried - 1)
    return wait if wait <= LONGEST_PAUSE else None


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After as seconds: the header holds a number or a date."""
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
