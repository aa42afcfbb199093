"""Whether a request is sent again, and after how long.

After 429 Business Central has done nothing, so every request is sent again. After 502, 503 and 504
a write may have happened, so only reads are sent again.
"""

from turnlog.net import back_off, seconds_asked

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
    wait = seconds_asked(retry_after)
    if wait is None:
        wait = back_off(tried, FIRST_PAUSE, LONGEST_PAUSE)
    return wait if wait <= LONGEST_PAUSE else None
