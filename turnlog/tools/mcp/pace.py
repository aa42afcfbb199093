"""How fast a server is heard. What it sends beyond that waits at its own side of the line.

Nobody asks for most of what a server may send (news, progress, lines that say nothing), and each
piece takes time of the one loop that all users share.
"""

import asyncio
import time

RATE = 10_000_000  # bytes a second
AT_ONCE = 2.0  # seconds of it, before anything waits
MESSAGE = 10_000  # bytes that take as long to read as one message, however short it is
LINE = 200  # and as one line of a stream
QUESTION = 200_000  # and as one request of the server, which a request of ours answers
STREAMS = 20  # a second: the client asks for another one whenever the server ends it
_NO_WAIT = 0.02  # seconds, for which no timer is worth its while


class Pace:
    """That of one server, over all its connections."""

    def __init__(self) -> None:
        self._heard_until = 0.0  # when what has been heard would have been heard at the rate
        self._asked_until = 0.0  # the same of streams: calls do not wait behind them

    async def after(self, size: int) -> None:
        """Wait until so many bytes more may be heard."""
        self._heard_until = _later(self._heard_until, size / RATE)
        await _until(self._heard_until)

    async def before_stream(self) -> None:
        """Wait until the server may be asked for one more stream of its news."""
        self._asked_until = _later(self._asked_until, 1 / STREAMS)
        await _until(self._asked_until)


def _later(moment: float, seconds: float) -> float:
    return max(moment, time.monotonic() - AT_ONCE) + seconds


async def _until(moment: float) -> None:
    if (ahead := moment - time.monotonic()) > _NO_WAIT:
        await asyncio.sleep(ahead)
