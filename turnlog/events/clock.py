"""Times as RFC 3339 in UTC, to the millisecond: as text they sort as they passed."""

import time
from datetime import UTC, datetime
from functools import lru_cache


def now() -> str:
    return text(time.time_ns() // 1_000_000)


def in_seconds(seconds: float) -> str:
    """The time that many seconds from now."""
    return text(time.time_ns() // 1_000_000 + round(seconds * 1000))


def in_utc(moment: str) -> str:
    """A time of RFC 3339, or a day, in the form that sorts. Raises ValueError for anything else."""
    read = datetime.fromisoformat(moment)
    at = read if read.tzinfo else read.replace(tzinfo=UTC)
    return text(int(at.timestamp() * 1000))


def seconds_until(moment: str) -> float:
    """How long it is until then; negative where it has passed."""
    return datetime.fromisoformat(moment).timestamp() - time.time()


def seconds_between(moment: str, later: str) -> float:
    """Negative where `later` is earlier."""
    passed = datetime.fromisoformat(later) - datetime.fromisoformat(moment)
    return passed.total_seconds()


@lru_cache(maxsize=4)  # sessions whose windows end together share a moment
def text(milliseconds: int) -> str:
    """The time that many milliseconds after 1970 began."""
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03}Z"


@lru_cache(maxsize=4)  # every chunk has a time, and many share a second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
