"""Live events within one process: from turns to those who watch, none twice, none skipped.

Each session has a channel that keeps the events of its newest turn, shared by all who watch.
A watcher only remembers how far it has read, so a slow one costs nothing and slows nobody;
what waits for it is joined. One that has fallen behind the channel is told to reload. All
channels together remember so many bytes and no more.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence

import msgspec

from turnlog.buses.bell import HEARTBEAT, Bell
from turnlog.events.base import Stamped
from turnlog.events.chunks import CHUNKS, joined
from turnlog.events.cursor import Cursor, cursor_of
from turnlog.events.kinds import Complete, Error, UserMessageSent

MOST_CHANNELS = 1000  # sessions whose newest turn stays readable when nobody watches
MOST_BYTES = 64_000_000  # of all channels together
ENVELOPE = 500  # bytes that an event costs besides its content, about
_encode = msgspec.json.Encoder().encode


class Channel:
    """The newest turn of a session, and who waits for more."""

    def __init__(self) -> None:
        self.events: list[Stamped] = []
        self.size = 0  # bytes of these events
        self.dropped = 0  # how many events came before these
        self.watchers: set[Bell] = set()
        self.internal = -1  # the newest number of an internal event: no gap, and shown to nobody
        self._forgotten: Cursor | None = None  # up to where this turn is not here any more

    def publish(self, batch: Sequence[Stamped]) -> None:
        self.internal = max([self.internal, *(at.position for at in batch if at.placed.internal)])
        batch = [at for at in batch if not at.placed.internal]
        if not batch:
            return
        if isinstance(batch[0].event, UserMessageSent):  # a new turn: the one before is kept
            self._drop()
            self._forgotten = None
        self.events.extend(batch)
        self.size += sum(map(_size, batch))
        for more in self.watchers:
            more.ring()

    def forget(self) -> None:
        """Make room. Who has not read it reloads; a turn that is over is whole in the log."""
        self._forgotten = None if self.over else cursor_of(self.events[-1])
        self._drop()

    def _drop(self) -> None:
        self.dropped += len(self.events)
        self.events, self.size = [], 0

    def covers(self, after: Cursor | None) -> bool:
        """Whether everything that came after the cursor is still here."""
        if self._forgotten is not None and (after is None or after < self._forgotten):
            return False
        if after is None or not self.events:
            return True
        last = cursor_of(self.events[-1])
        foreign = after.position == last.position and after > last  # no event of ours had it
        return not foreign and after.position >= self.events[0].position - 1

    def is_read(self, place: int) -> bool:
        """Whether somebody who has seen so many events has seen them all."""
        return place == self.dropped + len(self.events)

    def place_of(self, after: Cursor | None) -> int:
        """How many events a client with this cursor has seen, counted from the first ever."""
        if after is None:
            return self.dropped
        seen = sum(1 for at in self.events if cursor_of(at) <= after)
        return self.dropped + seen

    @property
    def over(self) -> bool:
        """Whether no turn runs: the log has all there is to know."""
        if not self.events:
            return self._forgotten is None
        return isinstance(self.events[-1].event, Complete | Error)

    @property
    def idle(self) -> bool:
        return self.over and not self.watchers


class MemoryBus:
    """A Bus for one process."""

    def __init__(self, heartbeat: float = HEARTBEAT, most_bytes: int = MOST_BYTES) -> None:
        self._heartbeat = heartbeat
        self._most_bytes = most_bytes
        self._channels: OrderedDict[str, Channel] = OrderedDict()
        self._size = 0  # bytes of all channels
        self._closed = False

    @property
    def remembered(self) -> int:
        """How many bytes."""
        return self._size

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None:
        if batch:
            channel = self._channel(session_id)
            before = channel.size
            channel.publish(batch)
            self._size += channel.size - before
            if self._size > self._most_bytes:
                self._make_room()

    def close(self) -> None:
        self._closed = True
        for channel in self._channels.values():
            for more in channel.watchers:
                more.ring()

    def is_empty(self, session_id: str) -> bool:
        channel = self._channels.get(session_id)
        return channel is None or not channel.events

    async def follow(
        self, session_id: str, after: Cursor | None
    ) -> AsyncGenerator[Sequence[Stamped] | None, None]:
        channel = self._channel(session_id)
        if not channel.covers(after):
            yield None
            return
        more = Bell(self._heartbeat)
        channel.watchers.add(more)
        place = channel.place_of(after)
        from_nothing = not channel.events
        try:
            while place >= channel.dropped:
                waiting = channel.events[place - channel.dropped :]
                place += len(waiting)
                new = [at for at in waiting if after is None or cursor_of(at) > after]
                if new and _skips(new[0], after, from_nothing, channel.internal):
                    break
                if new:
                    from_nothing = False
                    after = cursor_of(new[-1])
                    yield joined(new)
                elif self._closed:
                    return
                else:
                    await more.wait()
                    if channel.is_read(place):
                        yield []
            yield None
        finally:
            channel.watchers.discard(more)
            more.close()

    def _channel(self, session_id: str) -> Channel:
        channel = self._channels.get(session_id)
        if channel is None:
            channel = self._channels[session_id] = Channel()
            self._forget_idle_ones()
        self._channels.move_to_end(session_id)
        return channel

    def _forget_idle_ones(self) -> None:
        """The oldest idle ones; their sessions are read from the log."""
        for session_id in list(self._channels)[:-MOST_CHANNELS]:
            if self._channels[session_id].idle:
                self._size -= self._channels.pop(session_id).size

    def _make_room(self) -> None:
        """Half of it: turns that are over first, then those that nobody watches, oldest first."""
        known = self._channels.values()
        for channel in sorted(known, key=lambda c: (not c.over, bool(c.watchers))):
            if self._size <= self._most_bytes // 2:
                return
            if channel.events:
                self._size -= channel.size
                channel.forget()


def _size(at: Stamped) -> int:
    """About how many bytes it costs."""
    event = at.event
    return ENVELOPE + len(event.content if isinstance(event, CHUNKS) else _encode(event))


def _skips(at: Stamped, after: Cursor | None, from_nothing: bool, internal: int) -> bool:
    """Whether something came before this that was never shown here.

    A turn begins, or is the first thing that a channel holds, and the log has more than the
    client knows; or the client knows nothing, and this is in mid-turn: it began elsewhere.
    """
    begins = isinstance(at.event, UserMessageSent)
    if after is None:
        return not begins
    known_before = at.position - (at.seq is not None)
    return (begins or from_nothing) and known_before > max(after.position, internal)
