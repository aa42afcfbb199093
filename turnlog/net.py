"""What all who talk over the network need: which addresses are on this machine, how long to wait
before the next try, and how much of an answer is read.
"""

import random
from collections.abc import AsyncIterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")  # names of this machine that lead nowhere else


class TooMuch(Exception):
    """More bytes came than are read."""


def is_on_loopback(url: str) -> bool:
    """Whether the address leads to this machine. Raises ValueError for what is no address."""
    return urlsplit(url).hostname in LOOPBACK


def keeps_secrets(url: str) -> bool:
    """Whether nobody on the way can read what is sent there: https, or this machine."""
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and is_on_loopback(url))
        return secure and bool(parts.hostname)
    except ValueError:  # no address at all
        return False


async def read_bounded(pieces: AsyncIterable[bytes], most: int) -> bytes:
    """All bytes. Raises TooMuch as soon as there are more than `most`."""
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > most:
            raise TooMuch(f"There are more than {most} bytes.")
    return bytes(read)


def back_off(tried: int, first: float, longest: float) -> float:
    """Seconds to wait after so many tries: `first`, doubled each time, `longest` at the most."""
    return float(min(first * 2.0 ** min(tried - 1, 100), longest))


def spread(seconds: float) -> float:
    """A little less, by chance: those who failed together do not try again together."""
    return seconds * random.uniform(0.75, 1.0)


def seconds_asked(retry_after: str | None) -> float | None:
    """The wait that a Retry-After header asks for, as a number or a date; None: it says nothing."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
        return max(0.0, seconds) if isfinite(seconds) else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(retry_after)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
