"""The newest turn of one session, and those who watch it in this process.

All watchers share its events; each only remembers how far it has read, so a slow one costs
nothing and slows nobody. Chunks that wait for it are joined when it reads.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.events.base import Stamped
from turnlog.events.chunks import as_one
from turnlog.events.cursor import Cursor, cursor_of
from turnlog.events.kinds import Complete, Error, UserMessageSent
from turnlog.ports import Batches, Encode, LiveEvent

OVERHEAD = 300  # bytes that an event costs besides its JSON, about


class Line:
    """Through which a process follows channels, until it closes."""

    closed = True


class Channel:
    """What a session shows: the events of its newest turn."""

    def __init__(self, encode: Encode) -> None:
        self.events: list[LiveEvent] = []
        self.size = 0  # bytes of these events
        self.watchers = 0
        self._encode = encode
        self._dropped = 0  # how many events came before these
        self._reaches = -1  # who has seen the log up to this number has missed nothing before them
        self._hidden = 0  # how many internal events came since the last one that was shown
        self._calls = 0  # how often watchers were woken
        self._sleeping: set[asyncio.Future[None]] = set()  # watchers who have read all there is
        self._quiet = False  # since the last heartbeat
        self._forgotten: Cursor | None = None  # up to where this turn is not here any more
        self._joined: tuple[int, int, Sequence[LiveEvent]] = (0, 0, [])  # what was read last

    @property
    def over(self) -> bool:
        """Whether no turn runs: the log has all there is to know."""
        if not self.events:
            return self._forgotten is None
        return isinstance(self.events[-1].at.event, Complete | Error)

    @property
    def idle(self) -> bool:
        return self.over and not self.watchers

    # writing

    def add(self, batch: Sequence[Stamped]) -> None:
        """Show these events. Internal ones are left out: they are only known to be no gap."""
        for at in batch:
            if at.placed.internal:
                self._hidden += 1
                continue
            if type(at.placed.event) is UserMessageSent:  # a new turn: the log has the one before
                self._begin(at)
            self._hidden = 0
            json = self._encode(at)
            self.events.append(LiveEvent(at, json))
            self.size += OVERHEAD + len(json)
        self._calls += 1
        self._quiet = False
        sleeping, self._sleeping = self._sleeping, set()
        for sleep in sleeping:
            if not sleep.done():
                sleep.set_result(None)

    def _begin(self, first: Stamped) -> None:
        known = _known_before(first)
        last = self.events[-1].at.position if self.events else known
        self._reaches = last if known - last == self._hidden else known
        self._drop()
        self._forgotten = None

    def beat(self) -> None:
        """Give a sign of life where nothing was shown since the last one."""
        if self._quiet:
            self.add([])
        self._quiet = True

    def forget(self) -> None:
        """Make room. Who has not read it reloads; a turn that is over is whole in the log."""
        self._forgotten = None if self.over else cursor_of(self.events[-1].at)
        self._drop()

    def _drop(self) -> None:
        self._dropped += len(self.events)
        self.events, self.size = [], 0
        self._joined = (0, 0, [])

    # reading

    async def follow(self, after: Cursor, line: Line) -> Batches:
        """What came after the cursor and what comes; None where some of it is not here."""
        if not self._covers(after):
            yield None
            return
        loop = asyncio.get_running_loop()
        place, position, fresh = self._place_of(after), after.position, True
        from_nothing = not self.events
        calls, sleep = -1, loop.create_future()
        self.watchers += 1
        try:
            while place >= self._dropped:
                if fresh:  # the client may know more than was shown here: it has read the log
                    place = self._place_of(after)
                woken, calls = calls != self._calls, self._calls
                if place < self._dropped + len(self.events):
                    batch = self._read(place)
                    first = batch[0].at
                    begins = type(first.placed.event) is UserMessageSent
                    reaches = self._reaches if begins else _known_before(first)
                    if (begins or from_nothing) and reaches > position:
                        break  # the log has something that was never shown here
                    place, position = self._dropped + len(self.events), batch[-1].at.position
                    fresh = from_nothing = False
                    yield batch
                elif line.closed:
                    return
                elif woken:
                    yield []
                else:
                    sleep = loop.create_future()
                    self._sleeping.add(sleep)
                    await sleep
            yield None
        finally:
            self.watchers -= 1
            self._sleeping.discard(sleep)

    def _covers(self, after: Cursor) -> bool:
        """Whether everything that came after the cursor is still here."""
        if self._forgotten is not None and after < self._forgotten:
            return False
        if not self.events:
            return True
        first, last = self.events[0].at, cursor_of(self.events[-1].at)
        foreign = after.position == last.position and after > last  # no event of ours had it
        begins = type(first.placed.event) is UserMessageSent
        return not foreign and after.position >= (self._reaches if begins else first.position - 1)

    def _place_of(self, after: Cursor) -> int:
        """How many events a client with this cursor has seen, counted from the first ever."""
        return self._dropped + sum(cursor_of(event.at) <= after for event in self.events)

    def _read(self, place: int) -> Sequence[LiveEvent]:
        """What came after so many events. Those who lag alike share the joined chunks."""
        waiting = self.events[place - self._dropped :]
        if len(waiting) == 1:
            return waiting
        end = place + len(waiting)
        if self._joined[:2] != (place, end):
            self._joined = (place, end, _join(waiting, self._encode))
        return self._joined[2]


def _known_before(at: Stamped) -> int:
    """The newest number of the log before this event."""
    return at.position - (at.seq is not None)


def _join(waiting: Sequence[LiveEvent], encode: Encode) -> list[LiveEvent]:
    """Adjacent chunks of one block as one, which stands where the last of them stood."""
    runs: list[list[LiveEvent]] = []
    for event in waiting:
        if runs and _continues(runs[-1][-1].at, event.at):
            runs[-1].append(event)
        else:
            runs.append([event])
    return [run[0] if len(run) == 1 else _one(run, encode) for run in runs]


def _continues(last: Stamped, at: Stamped) -> bool:
    return last.turn_id == at.turn_id and as_one(last.event, at.event) is not None


def _one(run: Sequence[LiveEvent], encode: Encode) -> LiveEvent:
    content = "".join(event.at.event.content for event in run)  # type: ignore[attr-defined]
    event = replace(run[0].at.event, content=content)
    last = run[-1].at
    at = replace(last, placed=replace(last.placed, event=event))
    return LiveEvent(at, encode(at))
