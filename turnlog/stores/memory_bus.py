"""Live events within one process: from turns to those who watch, none twice, none skipped.

Each session has a channel that keeps the events of its newest turn, shared by all who watch.
A watcher only remembers how far it has read, so a slow one costs nothing and slows nobody;
what waits for it is joined. One that has fallen behind the channel is told to reload.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence

from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor, cursor_of
from turnlog.events.joining import joined
from turnlog.events.kinds import Complete, Error, UserMessageSent
from turnlog.events.waiting import HEARTBEAT, Bell

MOST_CHANNELS = 1000  # sessions whose newest turn stays readable when nobody watches


class Channel:
    """The newest turn of a session, and who waits for more."""

    def __init__(self) -> None:
        self.events: list[Stamped] = []
        self.dropped = 0  # how many events came before these
        self.watchers: set[Bell] = set()

    def publish(self, batch: Sequence[Stamped]) -> None:
        if isinstance(batch[0].event, UserMessageSent):  # a new turn: the one before is kept
            self.dropped += len(self.events)
            self.events = []
        self.events.extend(batch)
        for more in self.watchers:
            more.ring()

    def covers(self, after: Cursor) -> bool:
        """Whether everything that came after the cursor is still here."""
        if not self.events:
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
    def idle(self) -> bool:
        """Whether nobody watches and no turn runs: the log has all there is to know."""
        over = not self.events or isinstance(self.events[-1].event, Complete | Error)
        return over and not self.watchers


class MemoryBus:
    """A Bus for one process."""

    def __init__(self, heartbeat: float = HEARTBEAT) -> None:
        self._heartbeat = heartbeat
        self._channels: OrderedDict[str, Channel] = OrderedDict()

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None:
        if batch:
            self._channel(session_id).publish(batch)

    def is_empty(self, session_id: str) -> bool:
        channel = self._channels.get(session_id)
        return channel is None or not channel.events

    async def follow(
        self, session_id: str, after: Cursor | None
    ) -> AsyncGenerator[Sequence[Stamped] | None, None]:
        channel = self._channel(session_id)
        if after is not None and not channel.covers(after):
            yield None
            return
        more = Bell(self._heartbeat)
        channel.watchers.add(more)
        place = channel.place_of(after)
        try:
            while place >= channel.dropped:
                waiting = channel.events[place - channel.dropped :]
                place += len(waiting)
                new = [at for at in waiting if after is None or cursor_of(at) > after]
                if new and after is not None and _skips(new[0], after):
                    break
                if new:
                    after = cursor_of(new[-1])
                    yield joined(new)
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
                del self._channels[session_id]


def _skips(at: Stamped, after: Cursor) -> bool:
    """A turn begins, and the log holds something before it that was never shown here."""
    return isinstance(at.event, UserMessageSent) and at.position > after.position + 1
