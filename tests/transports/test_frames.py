"""Frames as bytes are what a websocket library writes, and keep their order with the queue."""

import asyncio
from types import SimpleNamespace

import pytest
from websockets.frames import Frame, Opcode
from websockets.protocol import CLOSING
from websockets.server import ServerProtocol

from turnlog.transports.frames import FramedWebSocket, frame_of
from turnlog.transports.socketio.line import Line, Parcel


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_is_what_the_library_would_have_written(size):
    text = b"a" * size
    assert frame_of(text) == Frame(Opcode.TEXT, text).serialize(mask=False)


class Socket(SimpleNamespace):
    """As much of engine.io's socket as a line uses, and a writer as engine.io's is."""

    def __init__(self):
        server = SimpleNamespace(ping_interval=1000, ping_timeout=1000)
        super().__init__(queue=asyncio.Queue(), closed=False, upgraded=True, server=server)
        self.sent, self.writable = [], True

    def write(self, frame):
        if self.writable:
            self.sent.append(frame[2:].decode())
        return self.writable

    async def writer(self):
        while packets := await self.poll():
            for packet in packets:
                await asyncio.sleep(0)  # a send may wait: whatever comes meanwhile comes after
                self.sent.append(packet.encode())


async def test_what_goes_straight_and_what_goes_by_the_queue_keep_their_order():
    socket = Socket()
    line = Line(socket, socket.write)
    writing = asyncio.create_task(socket.writer())
    for number in range(300):
        socket.writable = number % 7 < 5  # now and then the client reads too slowly
        line.put(Parcel(b"2%d" % number))
        if number % 3 == 0:
            await asyncio.sleep(0)
    socket.queue.put_nowait(None)
    await writing
    assert socket.sent == [f"42{number}" for number in range(300)]


def test_a_server_that_stops_hangs_up_on_who_is_hanging_up():
    websocket = FramedWebSocket.__new__(FramedWebSocket)
    websocket.close_sent, websocket.handshake_complete = False, True
    websocket.stop_keepalive, websocket.queue = lambda: None, asyncio.Queue()
    websocket.conn = ServerProtocol()
    websocket.conn.state = CLOSING  # the client's word has come, and is not handled yet
    closed = []
    websocket.transport = SimpleNamespace(close=lambda: closed.append(True))
    websocket.shutdown()
    assert closed == [True]


async def test_a_client_that_polls_gets_its_packets_by_the_queue():
    socket = Socket()
    socket.upgraded = False
    line = Line(socket, None)
    line.put(Parcel(b"2a"))
    assert ([packet.encode() for packet in await socket.poll()], socket.sent) == (["42a"], [])
