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
_NO_WAIT = 0.02  # seconds, for which no timer is worth its while


class Pace:
    """That of one server, over all its connections."""

    def __init__(self) -> None:
        self._heard_until = 0.0  # when what has been heard would have been heard at the rate

    async def after(self, size: int) -> None:
        """Wait until so many bytes more may be heard."""
        now = time.monotonic()
        self._heard_until = max(self._heard_until, now - AT_ONCE) + size / RATE
        if (ahead := self._heard_until - now) > _NO_WAIT:
            await asyncio.sleep(ahead)
