"""One Socket.IO client whose user is known: the sessions that it has joined, and its packets.

Each session that it joins is one task that follows the bus. A client that does not read is
not written to: what waits for it is joined in the bus.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from turnlog.errors import BadInput
from turnlog.events.base import AgentRef, Envelope, Stamped
from turnlog.events.kinds import SessionStart
from turnlog.ports import LiveEvent, Session, User
from turnlog.transports import wire
from turnlog.transports.http.sessions import shown
from turnlog.transports.http.turns import BEGINNING
from turnlog.transports.socketio.line import Line, Parcel

MOST_WAITING = 64  # packets in a socket's queue; more are left in the bus
MOST_IN_LINE = 20  # messages that wait until their session is free
PATIENCE = 60.0  # seconds that a client may read nothing while something waits for it
EVENT = b'2["agent:event",%s]'  # a packet is put together around what is JSON already
_log = logging.getLogger(__name__)
Live = AsyncGenerator[Sequence[LiveEvent], None]
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
End = Callable[[str], Coroutine[Any, Any, None]]


class Client:
    """A socket and its user."""

    def __init__(
        self,
        *,
        sid: str,
        socket: Any,
        line: Line,
        user: User,
        parcels: "Parcels",
        spawn: Spawn,
        end: End,
    ) -> None:
        """`socket`: engine.io's; `line`: the way to it."""
        self.sid = sid
        self.socket = socket
        self.line = line
        self.user = user
        self.joined: dict[str, asyncio.Task[None]] = {}
        self.closing = ExitStack()  # what ends with it
        self._lines: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._in_line = 0
        self._parcels = parcels
        self._spawn = spawn
        self._end = end

    def join(self, session: Session, after: str | None, batches: Live) -> None:
        """In place of a former join of the same session."""
        self.leave(session.id)
        start = _session_start(session, after)
        self.joined[session.id] = self._spawn(self._follow(session.id, start, batches))

    def leave(self, *session_ids: str) -> None:
        for session_id in session_ids:
            if session_id in self.joined:
                self.joined.pop(session_id).cancel()

    def answer(self, number: int | None, answer: dict[str, Any]) -> None:
        """Acknowledge the packet of this number. One without a number wants no answer."""
        if number is not None:
            self.line.put(Parcel(b"3%d[%s]" % (number, msgspec.json.encode(answer))))

    @asynccontextmanager
    async def in_line(self, session_id: str) -> AsyncIterator[Callable[[], None]]:
        """For messages that wait until their session is free: they join its line in order.

        Call what it gives when the message is in the line: the next one may follow.
        """
        if self._in_line >= MOST_IN_LINE:
            raise BadInput(f"{MOST_IN_LINE} messages of this socket wait already.")
        self._in_line += 1
        try:
            line = self._lines.setdefault(session_id, asyncio.Lock())
            await line.acquire()
            with ExitStack() as held:
                held.callback(line.release)
                yield held.close
        finally:
            self._in_line -= 1

    async def room(self) -> None:
        """Wait until the client has read. One that has stopped reading is sent away."""
        if self.line.waiting < MOST_WAITING or self.line.closed:
            return
        try:
            await asyncio.wait_for(self.line.read(), PATIENCE)
        except TimeoutError:
            self.send_away()

    def send_away(self) -> None:
        """It comes back with its cursors, if there is anybody."""
        self.leave(*self.joined)
        self._spawn(self._end(self.sid))

    async def _follow(self, session_id: str, start: bytes, batches: Live) -> None:
        me = asyncio.current_task()
        try:
            self.line.put(Parcel(EVENT % start))
            async with aclosing(batches):
                async for batch in batches:
                    for live in batch:
                        if self.line.waiting >= MOST_WAITING:
                            await self.room()
                        self.line.put(self._parcels.of(live))
        except Exception:  # it comes back, and gets what it missed
            _log.exception("a session could not be followed")
            self.send_away()
        finally:
            if self.joined.get(session_id) is me:
                del self.joined[session_id]


class Parcels:
    """Events as parcels. All who watch a session want the same one, one after the other."""

    def __init__(self) -> None:
        self._newest: tuple[LiveEvent | None, Parcel | None] = (None, None)

    def of(self, live: LiveEvent) -> Parcel:
        newest, parcel = self._newest
        if newest is not live or parcel is None:
            parcel = Parcel(EVENT % live.json)
            self._newest = live, parcel
        return parcel


def _session_start(session: Session, after: str | None) -> bytes:
    """The first event that a client gets. It moves no cursor."""
    fields = shown(session)
    placed = Envelope(
        event=SessionStart(session=fields, settings={"thinking": fields["thinking"]}),
        event_id=str(uuid.uuid4()),
        time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        agent=AgentRef(id="turnlog", name="turnlog"),
        index=None,
        internal=False,
        kept=False,
    )
    at = Stamped(session_id=session.id, turn_id="", envelope=placed, seq=None, position=-1)
    return msgspec.json.encode(wire.decode(wire.encode(at)) | {"cursor": after or BEGINNING})
