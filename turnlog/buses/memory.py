"""A bus within one process: live events from turns to those who watch, and signals.

All channels together remember so many bytes and no more; a watcher who falls behind what they
remember is told to reload.
"""

import asyncio

from turnlog.buses.channels import Channels, Line
from turnlog.events.cursor import Cursor
from turnlog.ports import Batches, Encode, OnSignal, Signal, Watcher

MOST_BYTES = 64_000_000  # of all channels together
HEARTBEAT = 10.0  # seconds; proxies and browsers give up on a silent connection after 30 to 60


class MemoryBus:
    """A Bus for one process. Those that are made `beside` another one share its channels."""

    away: str | None = None  # there is nothing that could be

    def __init__(
        self,
        encode: Encode,
        *,
        heartbeat: float = HEARTBEAT,
        most_bytes: int = MOST_BYTES,
        beside: "MemoryBus | None" = None,
    ) -> None:
        self.channels: Channels = beside.channels if beside else Channels(encode, most_bytes)
        self.publish = self.channels.add
        self._listeners: dict[Line, OnSignal] = beside._listeners if beside else {}
        self._heartbeat = heartbeat
        self._line = Line()
        self._beating: asyncio.TimerHandle | None = None

    @property
    def shared(self) -> bool:
        return len(self._listeners) > 1

    async def open(self, on_signal: OnSignal) -> None:
        if not self._listeners:
            self.channels.clear()
        self._line.closed = False
        self._listeners[self._line] = on_signal
        self._beat()

    async def close(self) -> None:
        self._line.closed = True
        self._listeners.pop(self._line, None)
        if self._beating is not None:
            self._beating.cancel()
        for channel in self.channels.values():
            channel.add([])  # those who follow see that it is closed

    def follow(self, session_id: str, after: Cursor, watcher: Watcher | None = None) -> Batches:
        return self.channels.follow(session_id, after, self._line, watcher)

    def signal(self, session_id: str, signal: Signal) -> None:
        for on_signal in list(self._listeners.values()):
            on_signal(session_id, signal)

    def _beat(self) -> None:
        for channel in self.channels.values():
            channel.beat()
        self._beating = asyncio.get_running_loop().call_later(self._heartbeat, self._beat)
