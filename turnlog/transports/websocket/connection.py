"""One open websocket of our server.

Frames go straight to the transport and messages straight to the listener: there is no task, no
queue and no timer for a socket. It answers pings, and closes what breaks the protocol.
"""

import asyncio
from typing import Any

from turnlog.transports.websocket.frames import (
    CLOSE,
    NORMAL,
    PING,
    PONG,
    RESTART,
    Parcel,
    close_frame,
    frame_of,
)
from turnlog.transports.websocket.line import Listener
from turnlog.transports.websocket.reading import Broken, Reader, closing

MOST_BYTES = 1_100_000  # of a message: the largest question, and its packet
GOODBYE = 2.0  # seconds that a client has to answer a close frame


class WebSocket(asyncio.Protocol):
    """A Line over a transport, whose protocol it becomes."""

    __slots__ = ("_connections", "_farewell", "_ping", "_reader", "is_full", "is_open",
                 "listener", "transport")  # fmt: skip

    def __init__(
        self, transport: asyncio.Transport, listener: Listener, connections: set[Any]
    ) -> None:
        """`connections`: those that uvicorn shuts down."""
        self.is_full = False
        self.is_open = True
        self.transport = transport
        self.listener = listener
        self._connections = connections
        self._reader: Reader | None = Reader(MOST_BYTES)  # None: whatever comes is not read
        self._ping: bytes | None = None  # the newest one, where the answer has to wait
        self._farewell: asyncio.TimerHandle | None = None
        transport.set_protocol(self)
        connections.add(self)
        listener.opened(self)

    # the line

    def write(self, parcel: Parcel) -> None:
        if self.is_open and not self.transport.is_closing():  # uvloop's raises where it is
            self.transport.write(parcel.frame)

    def write_bytes(self, payload: bytes, opcode: int) -> None:
        """A message for this client alone."""
        if self.is_open and not self.transport.is_closing():
            self.transport.write(frame_of(payload, opcode))

    def pause_reading(self) -> None:
        if self.is_open and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Say so, and read on for a moment until the client says the same: closing a connection
        on which something waits to be read may take back what was written last.
        """
        if not self.is_open:
            return
        self.is_open = False
        if not self.transport.is_closing():
            self.transport.write(close_frame(code, reason))
            loop = asyncio.get_running_loop()
            self._farewell = loop.call_later(GOODBYE, self.transport.abort)
            self.transport.resume_reading()

    # what the transport says

    def data_received(self, data: bytes) -> None:
        if self._reader is None:
            return
        try:
            for opcode, message in self._reader.feed(data):
                self._take(opcode, message)
        except Broken as broken:
            self._reader = None
            self._lose(broken.code, str(broken))

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self._ping is not None:
            self.write_bytes(self._ping, PONG)
            self._ping = None
        if self.is_open:
            self.listener.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        if self._farewell is not None:
            self._farewell.cancel()
        if self.is_open:
            self.is_open = False
            self.listener.lost()

    def shutdown(self) -> None:
        """For uvicorn, when the server stops. Whoever is hung up on already has its moment."""
        self._lose(RESTART)

    # inside

    def _take(self, opcode: int, message: Any) -> None:
        if opcode == CLOSE:
            self._said_goodbye(message)
        elif not self.is_open or opcode == PONG:
            pass  # the rest of what was under way
        elif opcode == PING:
            self._pinged(message)
        else:
            self.listener.heard(message)

    def _pinged(self, payload: bytes) -> None:
        """RFC 6455, 5.5.3: where several wait, the newest is answered."""
        if self.is_full:
            self._ping = payload
        else:
            self.write_bytes(payload, PONG)

    def _said_goodbye(self, payload: bytes) -> None:
        self._lose(closing(payload))
        self._reader = None
        self.transport.close()

    def _lose(self, code: int, reason: str = "") -> None:
        """The client is hung up on, for a reason that the listener does not know."""
        if self.is_open:
            self.close(code, reason)
            self.listener.lost()
