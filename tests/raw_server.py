"""A server that says what a test says, byte by byte, and knows who is connected to it."""

import asyncio
import socket
import struct
from contextlib import asynccontextmanager

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
LIMIT = 60.0  # seconds that a test waits for what is sure to happen


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


async def until(condition):
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.001)


class Caller:
    """One who is connected."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.requests = []  # their heads
        self.is_gone = False

    async def listen(self, answers):
        try:
            while True:
                self.requests.append((await self.reader.readuntil(b"\r\n\r\n")).decode())
                self.send(*answers)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self.is_gone = True
            self.writer.close()

    def send(self, *pieces):
        for piece in pieces:
            self.writer.write(piece)

    def hang_up(self):
        self.writer.close()

    def cut(self):
        """The other side learns that the connection broke, not that it ended."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Server:
    """Its callers, the newest last."""

    def __init__(self):
        self.callers, self.port = [], 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def caller(self):
        return self.callers[-1]

    async def is_left(self):
        """Until nobody is connected any more."""
        await until(lambda: all(caller.is_gone for caller in self.callers))


@asynccontextmanager
async def meeting(meet, ssl=None):
    """`meet(reader, writer)` gets whoever connects; its port. At the end all of them are gone."""
    here, writers = set(), set()

    async def met(reader, writer):
        here.add(writer)
        try:
            await meet(reader, writer)
        finally:
            writers.add(writer)
            writer.close()
            here.discard(writer)

    listener = await asyncio.start_server(met, "127.0.0.1", 0, ssl=ssl)
    async with listener:
        yield listener.sockets[0].getsockname()[1]
    for _ in range(10):  # whoever was let in meanwhile is met
        await asyncio.sleep(0)
    for writer in [*here]:
        writer.transport.abort()
    await until(lambda: not here)
    await asyncio.gather(*(w.wait_closed() for w in writers), return_exceptions=True)


@asynccontextmanager
async def listening(*answers, ssl=None):
    """It answers each request with the same bytes, or with none."""
    server = Server()

    async def meet(reader, writer):
        caller = Caller(reader, writer)
        server.callers.append(caller)
        await caller.listen(answers)

    async with meeting(meet, ssl) as server.port:
        yield server
        for caller in server.callers:
            caller.hang_up()
        await server.is_left()


async def whole(exchange):
    """The body of a response, read to its end."""
    body = b""
    while piece := await exchange.read():
        body += piece
    await exchange.aclose()
    return body
