"""One Socket.IO client whose user is known: the sessions that it has joined, and its packets.

Each session that it joins is one task that follows the bus. A client that does not read is
not written to: what waits for it is joined in the bus.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from turnlog.events.base import AgentRef, Envelope, Stamped
from turnlog.events.kinds import SessionStart
from turnlog.ports import LiveEvent, Session, User
from turnlog.transports import wire
from turnlog.transports.http.resources.sessions import shown
from turnlog.transports.http.resources.turns import BEGINNING
from turnlog.transports.sends import is_one_send, sends_of
from turnlog.transports.socketio import packets
from turnlog.transports.socketio.connection import Connection
from turnlog.transports.socketio.packets import AGENT_EVENT
from turnlog.transports.websocket.frames import Parcel

_log = logging.getLogger(__name__)
Live = AsyncGenerator[Sequence[LiveEvent], None]
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Client:
    """A connection and its user."""

    __slots__ = ("_parcels", "_spawn", "connection", "expiry", "joined", "user")

    def __init__(
        self, connection: Connection, user: User, parcels: "Parcels", spawn: Spawn
    ) -> None:
        self.connection = connection
        self.user = user
        self.joined: dict[str, asyncio.Task[None]] = {}
        self.expiry: asyncio.TimerHandle | None = None  # of its token
        self._parcels = parcels
        self._spawn = spawn

    def join(self, session: Session, after: str | None, batches: Live) -> None:
        """In place of a former join of the same session."""
        self.leave(session.id)
        start = _session_start(session, after)
        self.joined[session.id] = self._spawn(self._follow(session.id, start, batches))

    def leave(self, *session_ids: str) -> None:
        for session_id in session_ids:
            if session_id in self.joined:
                self.joined.pop(session_id).cancel()

    def answer(self, number: str, answer: dict[str, Any]) -> None:
        """Acknowledge the packet of this number. One without a number wants no answer."""
        if number:
            self.connection.put_soon(packets.answer(number, answer))  # the turn begins just now

    def give(self, events: Sequence[LiveEvent]) -> bool:
        """Send events of a session that it has joined. False: it has to read first, or polls, or
        they are more than is sent without a look at whether it reads.
        """
        line = self.connection.line
        if line is None or line.is_full or not is_one_send(events):
            return False
        line.write(*self._parcels.of(events))
        return True

    def send_away(self) -> None:
        """It comes back with its cursors, if there is anybody."""
        self.connection.put(packets.DISCONNECTED)
        self.connection.close()

    def end(self) -> None:
        """It has gone."""
        self.leave(*self.joined)
        if self.expiry is not None:
            self.expiry.cancel()

    async def _follow(self, session_id: str, start: bytes, batches: Live) -> None:
        me, connection = asyncio.current_task(), self.connection
        try:
            connection.put(Parcel(AGENT_EVENT % start))
            del start  # nothing is kept for as long as the client watches
            async for batch in batches:
                for together in sends_of(batch) if batch else ():  # a heartbeat has no event
                    if connection.is_full:
                        await connection.room()
                    connection.put(*self._parcels.of(together))
                    del together
                del batch  # nothing is kept while nothing comes
        except Exception:  # it comes back, and gets what it missed
            _log.exception("a session could not be followed")
            self.send_away()
        finally:
            if self.joined.get(session_id) is me:
                del self.joined[session_id]
            await batches.aclose()


class Parcels:
    """Events as parcels. All who watch a session want the same ones, one after the other."""

    def __init__(self) -> None:
        self._newest: tuple[Sequence[LiveEvent], list[Parcel]] = ((), [])

    def of(self, events: Sequence[LiveEvent]) -> list[Parcel]:
        """Of events that are sent together."""
        newest, parcels = self._newest
        if newest != events:
            parcels = [Parcel(AGENT_EVENT % live.json) for live in events]
            self._newest = events, parcels
        return parcels


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
