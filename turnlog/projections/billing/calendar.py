"""Days and months where people live: which day a moment is in, and when a day begins in UTC."""

from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from turnlog.errors import BadInput

MOST_NAME = 100  # characters of a time zone's name


def zone(name: str) -> tzinfo:
    """The time zone of that name, as Europe/Berlin. Raises BadInput for an unknown one."""
    try:
        return ZoneInfo(name) if len(name) <= MOST_NAME else ZoneInfo("")
    except (LookupError, OSError, ValueError):  # a folder is an OSError, a path a ValueError
        raise BadInput(f"{name[:50]!r} is no time zone. Use a name as 'Europe/Berlin'.") from None


def moment(text: str, where: tzinfo, name: str) -> str:
    """The UTC time, as the log writes it, of a day's beginning or of a time with its offset."""
    try:
        if len(text) == len("2026-11-16"):
            return day_begins(date.fromisoformat(text), where)
        at = datetime.fromisoformat(text)
        return _written(at if at.tzinfo else at.replace(tzinfo=where))
    except (ValueError, OverflowError):
        raise BadInput(f"{name!r} must be a day, as 2026-11-16, not {text[:50]!r}.") from None


def day_begins(day: date, where: tzinfo) -> str:
    """Where the clock skips midnight, the first moment after it; where it repeats, the first."""
    return _written(datetime(day.year, day.month, day.day, tzinfo=where))


def day_of(at: str, where: tzinfo) -> str:
    """The day that a time of the log is in."""
    return at[:10] if where is UTC else _minute_in(at[:16], where)


def period_begins(per: str, now: str, where: tzinfo) -> str | None:
    """When the current day or month began; None for what has no period."""
    today = date.fromisoformat(day_of(now, where))
    starts = {"day": today, "month": today.replace(day=1)}
    return day_begins(starts[per], where) if per in starts else None


@lru_cache(maxsize=65_536)  # offsets change on whole minutes
def _minute_in(minute: str, where: tzinfo) -> str:
    at = datetime.fromisoformat(minute).replace(tzinfo=UTC)
    return at.astimezone(where).date().isoformat()


def _written(at: datetime) -> str:
    utc = at.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03}Z"
