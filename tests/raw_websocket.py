"""A served websocket, and somebody who writes its bytes by hand."""

import asyncio
from contextlib import asynccontextmanager, suppress

from turnlog.testing.tabs import serve_sockets
from turnlog.transports.websocket.frames import Parcel
from turnlog.transports.websocket.line import serve

KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3
HEAD = {
    "host": "x",
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": KEY,
}


class Listener:
    """Hears nothing, and says nothing."""

    def opened(self, line):
        self.line = line

    def heard(self, message):
        pass

    def drained(self):
        pass

    def lost(self):
        pass


class Echo(Listener):
    """Sends back what it gets, bytes as digits. It knows everybody."""

    def opened(self, line):
        super().opened(line)
        line.welcome()

    def heard(self, message):
        text = message if isinstance(message, str) else message.hex()
        self.line.write(Parcel(text.encode()))


class Flood(Listener):
    """Writes as long as the client reads, and hangs up at the end."""

    def __init__(self, texts):
        self._texts = iter(texts)
        self.is_lost = asyncio.Event()

    def opened(self, line):
        super().opened(line)
        self.drained()

    def drained(self):
        while not self.line.is_full:
            text = next(self._texts, None)
            if text is None:
                self.line.close()
                return
            self.line.write(Parcel(text.encode()))

    def lost(self):
        self.is_lost.set()


def taken_by(make):
    """An application whose websockets are taken by listeners that this makes."""

    async def app(scope, receive, send):
        await serve(make(), scope, receive, send)

    return app


echo = taken_by(Echo)


@asynccontextmanager
async def served(app=echo):
    async with serve_sockets(app) as url, asyncio.timeout(60):
        yield url.replace("http", "ws")


@asynccontextmanager
async def raw(url, head=HEAD, method="GET"):
    """A connection that has sent a head, and what it was answered."""
    host, port = url.split("//")[1].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    writer.write(f"{method} / HTTP/1.1\r\n{lines}\r\n".encode())
    try:
        yield (await reader.readuntil(b"\r\n\r\n")).decode().lower(), reader, writer
    finally:
        writer.close()


async def frame(reader):
    """What a small frame of the server says."""
    first, size = await reader.readexactly(2)
    return first, await reader.readexactly(size)


async def until_eof(reader):
    with suppress(ConnectionError):
        return await reader.read()
    return b""
