"""Waiting for events, but not in silence: whoever waits is woken now and then to say so."""

import asyncio

HEARTBEAT = 15.0  # seconds; proxies and browsers give up on a silent connection after 30 to 60


class Bell:
    """Rung when something is there, and when it has been quiet for long.

    One timer for as long as somebody listens, not one for each wait: those who watch a stream
    wait for every piece of it.
    """

    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat
        self._rung = asyncio.Event()
        self._quiet_since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        """For the next ring."""
        self._rung.clear()
        self._quiet_since = asyncio.get_running_loop().time()
        if self._timer is None:
            self._check_in(self._heartbeat)
        await self._rung.wait()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def _check(self) -> None:
        left = self._quiet_since + self._heartbeat - asyncio.get_running_loop().time()
        if left <= 0:
            self._timer = None
            self.ring()
        else:
            self._check_in(left)
