"""Engine.IO 4: connections by polling or by websocket, and the change from one to the other.

One round a second looks after all of them: it pings, and closes who does not answer, does not
read, or never says who it is.
"""

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnlog.transports.socketio import packets, polling
from turnlog.transports.socketio.connection import Connection
from turnlog.transports.socketio.waiting import Waiting
from turnlog.transports.websocket.line import Line, serve

ROUND = 1.0  # seconds between two looks at all connections
CONNECTS_WITHIN = 20.0  # seconds that a client may take to say who it is
PROBES_WITHIN = 10.0  # seconds that a client may take to try out a websocket
PING_EVERY, PONG_WITHIN = 25.0, 20.0  # seconds
PATIENCE = 60.0  # seconds that a client may read nothing while something waits for it
LAST_WORDS = 2.0  # seconds that clients get to read what is left when they are hung up on
# Engine.IO's numbers for what is wrong
WHY = {
    0: "Transport unknown",
    1: "Session ID unknown",
    2: "Bad handshake method",
    3: "Bad request",
    5: "Unsupported protocol version",
}
Take = Callable[[Connection, str], Coroutine[Any, Any, None]]
Ended = Callable[[Connection], None]


class Closes(Protocol):
    def close(self) -> None: ...


class Engine:
    """The connections of one server: an ASGI app, and what `Connection` tells."""

    def __init__(self, take: Take, on_end: Ended) -> None:
        """`take`: a message of Socket.IO, `on_end`: a connection is over."""
        self.connections: dict[str, Connection] = {}
        self.take = take
        self._on_end = on_end
        self._strangers: Waiting[Connection] = Waiting()
        self._probes: Waiting[_Probe] = Waiting()
        self._quiet: Waiting[Connection] = Waiting()  # until they are pinged
        self._pinged: Waiting[Connection] = Waiting()  # until they answer
        self._full: Waiting[Connection] = Waiting()  # until they read
        self._leaving: Waiting[Connection] = Waiting()  # until they poll for the last time
        self._has_left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = HTTPConnection(scope).query_params
        is_socket = scope["type"] == "websocket"
        connection = self.connections.get(query.get("sid", ""))
        problem = _problem(query, connection, "websocket" if is_socket else "polling")
        if problem is not None:
            await _refusal(problem)(scope, receive, send)
        elif is_socket:
            await self._websocket(connection, scope, receive, send)
        else:
            response = await self._poll(connection, scope["method"], receive)
            await response(scope, receive, send)

    async def go_round(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(ROUND)
            unwelcome: list[Closes] = [
                *self._strangers.overdue(CONNECTS_WITHIN),
                *self._probes.overdue(PROBES_WITHIN),
                *self._pinged.overdue(PONG_WITHIN),
                *self._full.overdue(PATIENCE),
            ]
            for one in unwelcome:
                one.close()
            for connection in self._quiet.overdue(PING_EVERY):
                connection.put(packets.PINGED)
                self._pinged.add(connection)
            for connection in self._leaving.overdue(CONNECTS_WITHIN):
                self._forget(connection)

    async def hang_up(self) -> None:
        """On everybody, when they have read what is there. They come back with their cursors."""
        for connection in list(self.connections.values()):
            connection.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while self._leaving:
                    self._has_left.clear()
                    await self._has_left.wait()
        for connection in self._leaving.overdue(0):
            self._forget(connection)

    def welcome(self, connection: Connection) -> None:
        """It has said who it is."""
        connection.welcome()
        self._strangers.discard(connection)

    # what connections tell

    def ponged(self, connection: Connection) -> None:
        self._pinged.discard(connection)
        self._quiet.add(connection)

    def waits_for_room(self, connection: Connection) -> None:
        self._full.add(connection)

    def has_room(self, connection: Connection) -> None:
        self._full.discard(connection)

    def ended(self, connection: Connection) -> None:
        for waiting in (self._strangers, self._quiet, self._pinged, self._full):
            waiting.discard(connection)
        if connection.outbox and connection.is_known:
            self._leaving.add(connection)
        else:
            self._forget(connection)
        self._on_end(connection)

    # inside

    def _new(self, *, upgrades: bool) -> Connection:
        sid = secrets.token_urlsafe(15)
        connection = self.connections[sid] = Connection(sid, self)
        opened = packets.opened(
            sid,
            upgrades=upgrades,
            ping_every=PING_EVERY,
            pong_within=PONG_WITHIN,
            most=packets.MOST_BYTES,
        )
        connection.put(opened)
        self._strangers.add(connection)
        self._quiet.add(connection)
        return connection

    def _forget(self, connection: Connection) -> None:
        self.connections.pop(connection.sid, None)
        self._leaving.discard(connection)
        self._has_left.set()

    async def _poll(self, connection: Connection | None, method: str, receive: Receive) -> Response:
        if connection is None:
            if method != "GET":
                return _refusal(2)
            return polling.answer(self._new(upgrades=True).taken())
        if method == "GET":
            parcels = await polling.get(connection, receive)
            if not connection.is_open:
                self._forget(connection)
            return polling.answer(parcels) if parcels else _refusal(3)
        if method == "POST" and connection.is_open:
            return await polling.post(connection, receive)
        return _refusal(3)

    async def _websocket(
        self, connection: Connection | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if connection is None:
            await serve(self._new(upgrades=False), scope, receive, send)
            return
        probe = _Probe(connection, self._probes)
        self._probes.add(probe)
        await serve(probe, scope, receive, send)


class _Probe:
    """A websocket that is tried out by a client that polls. It becomes the connection's."""

    line: Line | None = None

    def __init__(self, connection: Connection, probes: "Waiting[_Probe]") -> None:
        self._connection = connection
        self._probes = probes

    def opened(self, line: Line) -> None:
        self.line = line

    def heard(self, message: str | bytes) -> None:
        connection, line = self._connection, self.line
        if line is None or not connection.is_open or connection.line is not None:
            self.close()
        elif message == packets.PROBE and connection.probe is None:
            connection.probe = self
            line.write(packets.PROBED)
            connection.wake_poll()  # or the client would wait for its answer
        elif message == packets.UPGRADE and connection.probe is self:
            self._probes.discard(self)
            line.listener = connection
            connection.opened(line)
        else:
            self.close()

    def drained(self) -> None:
        pass

    def lost(self) -> None:
        self._probes.discard(self)
        if self._connection.probe is self:
            self._connection.probe = None

    def close(self) -> None:
        if self.line is not None:
            self.line.close()
        self.lost()


def _problem(query: QueryParams, connection: Connection | None, transport: str) -> int | None:
    """What is wrong with a request, by Engine.IO's numbers."""
    if query.get("transport") != transport:
        return 0
    if "sid" not in query:
        return None if query.get("EIO") == "4" else 5
    if connection is None:
        return 1
    return None if connection.line is None else 3  # it has a websocket already


def _refusal(code: int) -> Response:
    return polling.refusal({"code": code, "message": WHY[code]})
