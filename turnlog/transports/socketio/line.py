"""The way to one client: frames straight into its websocket, or engine.io's queue.

A frame goes straight where nothing is before it: the queue is empty, and engine.io's writer has
sent all that it took. So the order is the same on both ways. Clients that poll, that are being
upgraded, or that read too slowly get theirs by the queue.
"""

import asyncio
from typing import Any

from engineio.exceptions import QueueEmpty
from engineio.packet import MESSAGE, Packet

from turnlog.transports.frames import WriteFrame, frame_of


class Parcel:
    """A packet for any number of clients. Its bytes are made once."""

    __slots__ = ("_packet", "frame", "text")

    def __init__(self, message: bytes) -> None:
        """`message`: of Socket.IO."""
        self.text = b"4" + message  # engine.io's word for a message
        self.frame = frame_of(self.text)
        self._packet: Packet | None = None

    @property
    def packet(self) -> Packet:
        """For engine.io's queue."""
        if self._packet is None:
            self._packet = Packet(MESSAGE, self.text[1:].decode())
        return self._packet


class Line:
    """A client's socket of engine.io, the same one before and after an upgrade."""

    def __init__(self, socket: Any, write: WriteFrame | None) -> None:
        """`write`: to its websocket, once it has one."""
        self.write = write
        self._socket = socket
        self._writer_waits = False  # all that it took from the queue is sent
        # engine.io's own takes a task and a timer for each packet.
        socket.poll = self._poll

    @property
    def waiting(self) -> int:
        """How many packets are in the queue."""
        return self._socket.queue.qsize()  # type: ignore[no-any-return]

    @property
    def closed(self) -> bool:
        return self._socket.closed  # type: ignore[no-any-return]

    def put(self, parcel: Parcel) -> None:
        """Send it. engine.io's own round ends clients that do not answer pings."""
        socket = self._socket
        if socket.closed:
            return
        straight = self._writer_waits and socket.upgraded and socket.queue.empty()
        if not (straight and self.write is not None and self.write(parcel.frame)):
            socket.queue.put_nowait(parcel.packet)

    def end(self) -> None:
        """The client is gone; engine.io's writer ends by itself."""
        self.write = None
        self._socket.__dict__.pop("poll", None)  # no cycle is left to be collected

    async def read(self) -> None:
        """Wait until the client has read what is in the queue."""
        await self._socket.queue.join()

    async def _poll(self) -> list[Packet]:
        """For engine.io: what is to be sent; nothing: the connection is closed."""
        queue, server = self._socket.queue, self._socket.server
        self._writer_waits = True
        try:
            async with asyncio.timeout(server.ping_interval + server.ping_timeout):
                packets = [await queue.get()]
        except (TimeoutError, asyncio.CancelledError):
            raise QueueEmpty from None
        finally:
            self._writer_waits = False
        queue.task_done()
        if packets == [None]:
            return []
        while not queue.empty():
            packet = queue.get_nowait()
            queue.task_done()
            if packet is None:
                queue.put_nowait(None)
                break
            packets.append(packet)
        return packets
