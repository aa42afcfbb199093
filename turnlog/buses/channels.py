"""The newest turn of each session, and those who watch it in this process.

All watchers of a session share its events; each only remembers how far it has read, so a slow
one costs nothing and slows nobody. Chunks that wait for it are joined when it reads.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from turnlog.buses.follower import Follower
from turnlog.buses.joining import UNMADE, joined
from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor, cursor_of
from turnlog.events.kinds import ENDINGS, UserMessageSent
from turnlog.ports import Batches, Encode, LiveEvent, Watcher

MOST_CHANNELS = 1000  # sessions whose newest turn stays readable when nobody watches
NOTHING: tuple[int, int, Sequence[LiveEvent]] = (0, 0, ())  # between two places
OVERHEAD = 300  # bytes that an event costs besides its JSON, about


class Line:
    """Through which a process follows channels, until it closes."""

    closed = True


class Channel:
    """What a session shows: the events of its newest turn."""

    __slots__ = ("_encode", "_forgotten", "_hidden", "_joined", "_quiet", "calls", "dropped",
                 "events", "reaches", "size", "sleeping", "watchers")  # fmt: skip

    def __init__(self, encode: Encode) -> None:
        self.events: list[LiveEvent] = []
        self.size = 0  # bytes of these events
        self.dropped = 0  # how many events came before these
        self.watchers = 0
        self.calls = 0  # how often watchers were woken
        self.sleeping: list[Follower] = []  # they have read all there is
        self.reaches = -1  # who has seen the log up to this number has missed nothing before them
        self._encode = encode
        self._hidden = 0  # how many internal events came since the last one that was shown
        self._quiet = False  # since the last heartbeat
        self._forgotten: Cursor | None = None  # up to where this turn is not here any more
        self._joined = NOTHING  # what was read last

    @property
    def over(self) -> bool:
        """Whether no turn runs: the log has all there is to know."""
        if not self.events:
            return self._forgotten is None
        return type(self.events[-1].entry.envelope.event) in ENDINGS

    @property
    def idle(self) -> bool:
        return self.over and not self.watchers

    # writing

    def add(self, batch: Sequence[Stamped]) -> None:
        """Show these events. Internal ones are left out: they are only known to be no gap. Those
        who sleep are given what is new, or woken.
        """
        begins, known = False, len(self.events)
        for entry in batch:
            if entry.envelope.internal:
                self._hidden += 1
                continue
            if type(entry.envelope.event) is UserMessageSent:
                self._begin(entry)  # a new turn: the log has the one before
                begins = True
            self._hidden = 0
            json = self._encode(entry)
            self.events.append(LiveEvent(entry, json))
            self.size += OVERHEAD + len(json)
        self.calls += 1
        self._quiet = False
        new = () if begins else self.events[known:]
        sleeping, self.sleeping = self.sleeping, []
        for follower in sleeping:
            if new and follower.takes(new):
                follower.bed = len(self.sleeping)
                self.sleeping.append(follower)
            else:
                follower.wake((self.dropped, self.events))
        if new and type(new[-1].entry.envelope.event) in ENDINGS:
            self.rest()

    def _begin(self, first: Stamped) -> None:
        known = _known_before(first)
        last = self.events[-1].entry.position if self.events else known
        self.reaches = last if known - last == self._hidden else known
        self._drop()
        self._forgotten = None

    def beat(self) -> None:
        """Give a sign of life where nothing was shown since the last one."""
        if self._quiet:
            self.add([])
        self._quiet = True

    def forget(self) -> None:
        """Make room. Who has not read it reloads; a turn that is over is whole in the log."""
        self._forgotten = None if self.over else cursor_of(self.events[-1].entry)
        self._drop()

    def lose(self) -> None:
        """Something was shown elsewhere that did not come here. Whoever watches reloads."""
        if self.events and not self.over:
            self._forgotten = cursor_of(self.events[-1].entry)
        self._drop()
        self.dropped += 1
        self.add([])

    def misses(self, first: Stamped) -> bool:
        """Whether something was shown before this event, in its turn, that is not here."""
        index = first.envelope.index
        if index is None or type(first.envelope.event) is UserMessageSent:
            return False
        if not self.events:
            return self._forgotten is None or index > self._forgotten.screen + 1
        last = self.events[-1].entry
        return last.turn_id != first.turn_id or index > (last.envelope.index or 0) + 1

    def is_stale(self, entry: Stamped) -> bool:
        """Whether this comes too late: its place is taken, its turn over, or a later one here."""
        last, index = self.events[-1].entry if self.events else None, entry.envelope.index
        if last is None or entry.envelope.internal:
            return False
        if last.turn_id != entry.turn_id:  # a remark on an earlier turn has no index, and is new
            return index is not None and entry.position < last.position
        if entry.seq is not None:  # whoever has lost the turn stores nothing
            return entry.seq <= last.position
        return self.over or (index is not None and index <= (last.envelope.index or 0))

    def leave(self, one: Follower) -> None:
        """Somebody watches no more. The last that sleeps takes its bed: nobody is looked for."""
        self.watchers -= 1
        if self.sleeping[one.bed : one.bed + 1] == [one]:
            self.sleeping[one.bed] = last = self.sleeping[-1]
            last.bed = one.bed
            self.sleeping.pop()
        self.rest()

    def rest(self) -> None:
        """Keep no JSON of a turn that is over and that all have read. For one who comes back it
        is made again, from the same events, which are as large: its `size` stays.
        """
        if len(self.sleeping) < self.watchers or not self.events or not self.over:
            return
        self._joined = NOTHING
        if self.events[-1].json is not UNMADE:
            self.events = [LiveEvent(event.entry, UNMADE) for event in self.events]

    def begin_at(self, first: Stamped) -> None:
        """What was shown of this turn before this event is not here."""
        self._forgotten = Cursor(_known_before(first), (first.envelope.index or 0) - 1)

    def _drop(self) -> None:
        self.dropped += len(self.events)
        self.events, self.size = [], 0
        self._joined = NOTHING

    # reading

    def covers(self, after: Cursor) -> bool:
        """Whether everything that came after the cursor is still here."""
        if self._forgotten is not None and after < self._forgotten:
            return False
        if not self.events:
            return True
        first, last = self.events[0].entry, cursor_of(self.events[-1].entry)
        foreign = after.position == last.position and after > last  # no event of ours had it
        begins = type(first.envelope.event) is UserMessageSent
        return not foreign and after.position >= (self.reaches if begins else _known_before(first))

    def place_of(self, after: Cursor) -> int:
        """How many events a client with this cursor has seen, counted from the first ever."""
        return self.dropped + len([e for e in self.events if cursor_of(e.entry) <= after])

    def skips(self, first: Stamped, position: int) -> bool:
        """Whether the log has something between these two that was never shown here."""
        begins = type(first.envelope.event) is UserMessageSent
        return (self.reaches if begins else _known_before(first)) > position

    def read(self, place: int) -> Sequence[LiveEvent]:
        """What came after so many events. Those who lag alike share the joined chunks."""
        waiting = self.events[place - self.dropped :]
        if len(waiting) == 1 and waiting[0].json is not UNMADE:
            return waiting
        end = place + len(waiting)
        if self._joined[:2] != (place, end):
            self._joined = (place, end, joined(waiting, self._encode))
        return self._joined[2]

    def read_rest(self, one: Follower) -> Sequence[LiveEvent]:
        """What it had not read of the turn that it was woken for, if the next has begun since."""
        (before, events), one.unread = one.unread or (0, []), None
        if one.fresh or not before <= one.place < self.dropped == before + len(events):
            return ()
        rest = joined(events[one.place - before :], self._encode)
        one.place, one.position = self.dropped, rest[-1].entry.position
        return rest


class Channels(OrderedDict[str, Channel]):
    """The channels of all sessions, within bounds; those that were written to last at the end."""

    def __init__(self, encode: Encode, most_bytes: int) -> None:
        super().__init__()
        self.size = 0  # bytes of all channels
        self._encode = encode
        self._most_bytes = most_bytes
        self._look_beyond = 0  # so many channels

    def __missing__(self, session_id: str) -> Channel:
        self[session_id] = channel = Channel(self._encode)
        self._forget_idle_ones()
        return channel

    def add(self, session_id: str, batch: Sequence[Stamped]) -> None:
        channel = self[session_id]
        self.move_to_end(session_id)
        before = channel.size
        channel.add(batch)
        self.size += channel.size - before
        if self.size > self._most_bytes:
            self._make_room()

    def look_for_gap(self, session_id: str, batch: Sequence[Stamped]) -> None:
        """Before this is added: if others have shown the turn so far, some may be missing here."""
        first = next((entry for entry in batch if not entry.envelope.internal), None)
        if first is not None and self[session_id].misses(first):
            self.lose(session_id)
            self[session_id].begin_at(first)

    def lose(self, session_id: str) -> None:
        """Something of this session may have been lost on the way."""
        self.size -= self[session_id].size
        self[session_id].lose()

    async def follow(
        self, session_id: str, after: Cursor, line: Line, watcher: Watcher | None = None
    ) -> Batches:
        """What came after the cursor and what comes; None where some of it is not here."""
        channel = self[session_id]
        if not channel.covers(after):
            yield None
            return
        loop = asyncio.get_running_loop()
        me = Follower(channel.dropped, after.position)
        from_nothing, calls = not channel.events, -1
        channel.watchers += 1
        try:
            while me.place >= channel.dropped:
                if me.fresh:  # the client may know more than was shown here: it has read the log
                    me.place = channel.place_of(after)
                woken, calls = calls != channel.calls, channel.calls
                if me.place < channel.dropped + len(channel.events):
                    batch = channel.read(me.place)
                    begins = type(batch[0].entry.envelope.event) is UserMessageSent
                    if (begins or from_nothing) and channel.skips(batch[0].entry, me.position):
                        break
                    me.place = channel.dropped + len(channel.events)
                    me.position = batch[-1].entry.position
                    me.fresh = from_nothing = False
                    me.watcher = watcher  # not before: where it is in the turn is known only now
                    yield batch
                    del batch  # what was read is not kept by those who wait
                elif line.closed:
                    return
                elif woken:
                    yield []
                else:
                    me.sleep, me.bed = loop.create_future(), len(channel.sleeping)
                    channel.sleeping.append(me)
                    channel.rest()
                    await me.sleep
                    if rest := channel.read_rest(me):
                        yield rest
                    del rest
            yield None
        finally:
            channel.leave(me)

    def clear(self) -> None:
        super().clear()
        self.size = self._look_beyond = 0

    def _make_room(self) -> None:
        """Half of it: turns that are over first, then those that nobody watches, oldest first."""
        for channel in sorted(self.values(), key=lambda c: (not c.over, bool(c.watchers))):
            if self.size <= self._most_bytes // 2:
                return
            if channel.events:
                self.size -= channel.size
                channel.forget()

    def _forget_idle_ones(self) -> None:
        """The oldest idle ones; their sessions are read from the log.

        Where thousands are watched, a look at all of them is worth it when there is a tenth more.
        """
        if len(self) <= self._look_beyond:
            return
        for session_id in list(self)[:-MOST_CHANNELS]:
            if self[session_id].idle:
                self.size -= self.pop(session_id).size
        self._look_beyond = len(self) + max(0, len(self) - MOST_CHANNELS) // 10


def _known_before(entry: Stamped) -> int:
    """The newest number of the log before this event."""
    return entry.position - (entry.seq is not None)
