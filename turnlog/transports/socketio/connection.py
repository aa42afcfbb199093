"""One client of Engine.IO 4, over polling, over a websocket, or over one and then the other.

What is written while there is no websocket waits here until the client polls. What the client says
is taken in its order, one after the other, by a task that is there only while there is something.
"""

import asyncio
from collections import deque
from typing import Protocol

from turnlog.transports.socketio import packets
from turnlog.transports.websocket.frames import Parcel
from turnlog.transports.websocket.line import Line

MOST_WAITING = 65_536  # bytes for a client that does not poll; more are left in the bus
MOST_UNREAD = 65_536  # characters of a client that are not taken yet; more stay with it
TAKEN_AT_ONCE = 100  # messages, before others have their turn


class Server(Protocol):
    """Whom a connection tells."""

    def ponged(self, connection: "Connection") -> None: ...
    def waits_for_room(self, connection: "Connection") -> None: ...
    def has_room(self, connection: "Connection") -> None: ...

    async def take(self, connection: "Connection", message: str) -> None:
        """A message of Socket.IO. Raises NoPacket for what is none."""
        ...

    def ended(self, connection: "Connection") -> None:
        """It is over, and all that it said is taken. Comes once."""
        ...


class Connection:
    """A Listener of its websocket, once it has one."""

    __slots__ = ("_inbox", "_room", "_server", "_size", "_unread", "_working", "is_known",
                 "is_open", "is_posting", "line", "outbox", "poll", "probe", "reading",
                 "refusals", "sid")  # fmt: skip

    def __init__(self, sid: str, server: Server) -> None:
        self.sid = sid
        self.is_open = True
        self.is_known = False  # it has said who it is
        self.refusals = 0  # how often it was told that it may not connect
        self.probe: object | None = None  # a websocket that is tried out
        self.line: Line | None = None
        self.outbox: list[Parcel] = []
        self.poll: asyncio.Future[None] | None = None  # of a request that waits for something
        self.is_posting = False  # a request brings something
        self.reading: asyncio.Timeout | None = None  # of that request's body
        self._server = server
        self._size = 0  # bytes of the outbox
        self._inbox: deque[str] | None = None  # while there is something: it has room for 64
        self._unread = 0
        self._working: asyncio.Task[None] | None = None
        self._room: asyncio.Event | None = None

    # to the client

    @property
    def is_full(self) -> bool:
        """Whether the client has to read before more is put."""
        return self._size > MOST_WAITING if self.line is None else self.line.is_full

    @property
    def is_behind(self) -> bool:
        """Whether more of the client waits than should."""
        return self._unread > MOST_UNREAD

    def put(self, *parcels: Parcel) -> None:
        """Send them at once, after all that was put before."""
        if self.line is not None:
            self.line.write(*parcels)
        elif self.is_open:
            self.outbox += parcels
            self._size += sum(map(len, parcels))
            self.wake_poll()

    def put_soon(self, parcel: Parcel) -> None:
        """Send it with what is put next, if that comes before the loop comes round."""
        if self.line is not None:
            self.line.write_soon(parcel)
        else:
            self.put(parcel)

    async def room(self) -> None:
        """Wait until the client has read. One that has stopped reading is hung up on."""
        while self.is_full and self.is_open:
            self._server.waits_for_room(self)
            if self._room is None:
                self._room = asyncio.Event()
            await self._room.wait()

    def taken(self) -> list[Parcel]:
        """All that waits for a poll, or for a websocket."""
        parcels, self.outbox, self._size = self.outbox, [], 0
        self.drained()
        return parcels

    def wake_poll(self) -> None:
        if self.poll is not None and not self.poll.done():
            self.poll.set_result(None)

    def close(self) -> None:
        """Hang up, when the client has read what is there. What it still says is not taken."""
        if not self.is_open:
            return
        if self.line is None:
            self.put(packets.CLOSED)
        else:
            self.line.close()
        self._inbox = None
        self._end()

    # from the client

    def welcome(self) -> None:
        """It has said who it is."""
        self.is_known = True
        if self.line is not None:
            self.line.welcome()

    def opened(self, line: Line) -> None:
        """It has a websocket from now on."""
        self.line, self.probe = line, None
        if self.is_known:
            line.welcome()
        line.write(*self.taken())
        self.wake_poll()

    def heard(self, message: str | bytes) -> None:
        """A packet. Bytes would be an attachment, and those are not read."""
        if not isinstance(message, str) or not self.is_open:
            return
        match message[:1]:
            case packets.MESSAGE:
                if self._inbox is None:
                    self._inbox = deque()
                self._inbox.append(message[1:])
                self._unread += len(message)
                if self.is_behind and self.line is not None:
                    self.line.pause_reading()
                if self._working is None:
                    self._working = asyncio.create_task(self._work())
            case packets.PONG:
                self._server.ponged(self)
            case packets.CLOSE:
                self.close()

    def drained(self) -> None:
        self._server.has_room(self)
        if self._room is not None:
            self._room.set()
            self._room = None

    def lost(self) -> None:
        """The client has gone. What it said before is taken."""
        if self.is_open:
            self.outbox.clear()
            self._end()

    async def caught_up(self) -> None:
        """Wait until all is taken that the client has said."""
        while self._working is not None:
            await asyncio.wait([self._working])

    # inside

    async def _work(self) -> None:
        try:
            taken = 0
            while self._inbox:
                message = self._inbox.popleft()
                await self._server.take(self, message)
                was_behind = self.is_behind
                self._unread -= len(message) + 1
                if was_behind and not self.is_behind and self.line is not None:
                    self.line.resume_reading()
                taken += 1
                if taken % TAKEN_AT_ONCE == 0:
                    await asyncio.sleep(0)
        except packets.NoPacket:
            self.close()
        finally:
            self._working = None
            if not self._inbox:
                self._inbox = None
            if not self.is_open:
                self._server.ended(self)

    def _end(self) -> None:
        self.is_open = False
        self.drained()
        if self.reading is not None and not self.reading.expired():
            self.reading.reschedule(-1)  # nobody waits for the rest
        if self._working is None:
            self._server.ended(self)
