"""A bus within one process: live events from turns to those who watch, and signals.

Each session has a channel with the events of its newest turn. All channels together remember
so many bytes and no more; a watcher who falls behind what they remember is told to reload.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from turnlog.buses.channel import Channel, Line
from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor
from turnlog.ports import Batches, Encode, OnSignal, Signal

MOST_CHANNELS = 1000  # sessions whose newest turn stays readable when nobody watches
MOST_BYTES = 64_000_000  # of all channels together
HEARTBEAT = 10.0  # seconds; proxies and browsers give up on a silent connection after 30 to 60


class MemoryBus:
    """A Bus for one process. Those that are made `beside` another one share its channels."""

    def __init__(
        self,
        encode: Encode,
        *,
        heartbeat: float = HEARTBEAT,
        most_bytes: int = MOST_BYTES,
        beside: "MemoryBus | None" = None,
    ) -> None:
        self.channels: Channels = beside.channels if beside else Channels(encode, most_bytes)
        self._listeners: dict[Line, OnSignal] = beside._listeners if beside else {}
        self._heartbeat = heartbeat
        self._line = Line()
        self._beating: asyncio.TimerHandle | None = None

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

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None:
        channels = self.channels
        channel = channels[session_id]
        channels.move_to_end(session_id)
        before = channel.size
        channel.add(batch)
        channels.size += channel.size - before
        if channels.size > channels.most_bytes:
            channels.make_room()

    def follow(self, session_id: str, after: Cursor) -> Batches:
        return self.channels[session_id].follow(after, self._line)

    def signal(self, session_id: str, signal: Signal) -> None:
        for on_signal in list(self._listeners.values()):
            on_signal(session_id, signal)

    def _beat(self) -> None:
        for channel in self.channels.values():
            channel.beat()
        self._beating = asyncio.get_running_loop().call_later(self._heartbeat, self._beat)


class Channels(OrderedDict[str, Channel]):
    """The channels of all sessions, within bounds; those that were written to last at the end."""

    def __init__(self, encode: Encode, most_bytes: int) -> None:
        super().__init__()
        self.size = 0  # bytes of all channels
        self.most_bytes = most_bytes
        self._encode = encode

    def __missing__(self, session_id: str) -> Channel:
        self[session_id] = channel = Channel(self._encode)
        self._forget_idle_ones()
        return channel

    def clear(self) -> None:
        super().clear()
        self.size = 0

    def make_room(self) -> None:
        """Half of it: turns that are over first, then those that nobody watches, oldest first."""
        for channel in sorted(self.values(), key=lambda c: (not c.over, bool(c.watchers))):
            if self.size <= self.most_bytes // 2:
                return
            if channel.events:
                self.size -= channel.size
                channel.forget()

    def _forget_idle_ones(self) -> None:
        """The oldest idle ones; their sessions are read from the log."""
        for session_id in list(self)[:-MOST_CHANNELS]:
            if self[session_id].idle:
                self.size -= self.pop(session_id).size
