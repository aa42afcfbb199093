"""One open websocket of our server.

Frames go straight to the transport and messages straight to the listener: there is no task and no
timer for a socket, and what is written waits no longer than until the loop comes round. It answers
pings, and closes what breaks the protocol. However many frames come at once, it reads some, and the
others have their turn before it reads on.
"""

import asyncio
from typing import Any

from turnlog.transports.websocket.frames import (
    CLOSE,
    MOST_BYTES,
    MOST_OF_A_STRANGER,
    NORMAL,
    PING,
    PONG,
    PROTOCOL_ERROR,
    RESTART,
    TOO_MANY,
    Parcel,
    close_frame,
)
from turnlog.transports.websocket.line import Listener
from turnlog.transports.websocket.reading import Broken, Reader, closing

GOODBYE = 2.0  # seconds that a client has to answer a close frame
FRAMES_AT_ONCE = 200
MOST_FRAMES, PERIOD = 20_000, 10.0  # who sends so many frames within so many seconds is closed


class WebSocket(asyncio.Protocol):
    """A Line over a transport, whose protocol it becomes."""

    __slots__ = ("_connections", "_counted", "_farewell", "_is_behind", "_is_held", "_outbox",
                 "_ping", "_reader", "is_full", "is_open", "listener", "transport")  # fmt: skip

    def __init__(
        self,
        transport: asyncio.Transport,
        listener: Listener,
        connections: set[Any],
        *,
        is_full: bool = False,
    ) -> None:
        """`connections`: those that uvicorn shuts down. `is_full`: the transport has said so."""
        self.is_full = is_full
        self.is_open = True
        self.transport = transport
        self.listener = listener
        self._connections = connections
        self._outbox: list[bytes] = []  # frames that are sent together, when the loop comes round
        # None: whatever comes is not read
        self._reader: Reader | None = Reader(MOST_OF_A_STRANGER)
        self._is_held = False  # the listener wants to hear nothing
        self._is_behind = False  # frames wait in the reader
        self._counted = asyncio.get_running_loop().time()  # since when frames are counted
        self._ping: bytes | None = None  # the newest one that is not answered
        self._farewell: asyncio.TimerHandle | None = None
        transport.set_protocol(self)
        connections.add(self)
        listener.opened(self)

    # the line

    def write(self, *parcels: Parcel) -> None:
        if not self.is_open or self.transport.is_closing():  # uvloop's raises where it is
            return
        if len(parcels) == 1 and not self._outbox:
            self.transport.write(parcels[0].frame)
        else:
            self._outbox += [parcel.frame for parcel in parcels]
            self._flush()

    def write_soon(self, parcel: Parcel) -> None:
        """To send costs more than all that makes a frame."""
        if self.is_open:
            if not self._outbox:
                asyncio.get_running_loop().call_soon(self._flush)
            self._outbox.append(parcel.frame)

    def welcome(self) -> None:
        if self._reader is not None:
            self._reader.most_bytes = MOST_BYTES

    def pause_reading(self) -> None:
        if self.is_open:
            self._is_held = True
            self._pause()

    def resume_reading(self) -> None:
        self._is_held = False
        if self._is_behind:
            asyncio.get_running_loop().call_soon(self._read_on)
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Say so, and read on for a moment until the client says the same: closing a connection
        on which something waits to be read may take back what was written last.
        """
        if not self.is_open:
            return
        self.is_open = False
        self._outbox.append(close_frame(code, reason))
        self._flush()
        # One that is closing already may wait for ever until its client reads.
        self._farewell = asyncio.get_running_loop().call_later(GOODBYE, self.transport.abort)
        self.resume_reading()

    # what the transport says

    def data_received(self, data: bytes) -> None:
        if self._reader is not None:
            self._read(self._reader, data)

    def eof_received(self) -> None:
        """It says nothing more, and no goodbye. The transport closes."""
        self._lose(PROTOCOL_ERROR, "the connection ends without a close frame")

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._pong()
        if self.is_open:
            self.listener.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._reader = None
        if self._farewell is not None:
            self._farewell.cancel()
        if self.is_open:
            self.is_open = False
            self.listener.lost()

    def shutdown(self) -> None:
        """For uvicorn, when the server stops. Whoever is hung up on already has its moment."""
        self._lose(RESTART)

    # inside

    def _flush(self) -> None:
        frames, self._outbox = self._outbox, []
        if frames and not self.transport.is_closing():
            self.transport.write(b"".join(frames))  # some asyncio never pauses for writelines

    def _read(self, reader: Reader, data: bytes) -> None:
        """Some frames. Where more are there, they wait."""
        try:
            for opcode, message in reader.feed(data, FRAMES_AT_ONCE):
                self._take(opcode, message)
                if self._is_held or self._reader is None:
                    break
            self._count(reader)
        except Broken as broken:
            self._reader = None
            self._lose(broken.code, str(broken))
        self._pong()
        if reader.is_behind and self._reader is not None and not self._is_behind:
            self._is_behind = True
            self._pause()
            if not self._is_held:
                asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        """Others have had their turn."""
        if self._is_held or not self._is_behind:
            return
        self._is_behind = False
        if self._reader is not None:
            self._read(self._reader, b"")
        if not (self._is_behind or self._is_held or self.transport.is_closing()):
            self.transport.resume_reading()

    def _pause(self) -> None:
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def _count(self, reader: Reader) -> None:
        """No application sends that many: they cost more to read than to send."""
        if reader.frames >= MOST_FRAMES:
            now = asyncio.get_running_loop().time()
            if now - self._counted < PERIOD:
                raise Broken(TOO_MANY, f"more than {MOST_FRAMES} frames in {PERIOD:.0f} seconds")
            self._counted, reader.frames = now, 0

    def _take(self, opcode: int, message: Any) -> None:
        if opcode == CLOSE:
            self._said_goodbye(message)
        elif not self.is_open or opcode == PONG:
            pass  # the rest of what was under way
        elif opcode == PING:
            self._ping = message
        else:
            self.listener.heard(message)

    def _pong(self) -> None:
        """RFC 6455, 5.5.3: where several pings wait, the newest is answered."""
        if self._ping is not None and not self.is_full:
            self.write(Parcel(self._ping, PONG))
            self._ping = None

    def _said_goodbye(self, payload: bytes) -> None:
        self._lose(closing(payload))
        self._reader = None
        self.transport.close()

    def _lose(self, code: int, reason: str = "") -> None:
        """The client is hung up on, for a reason that the listener does not know."""
        if self.is_open:
            self.close(code, reason)
            self.listener.lost()
