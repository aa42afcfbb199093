"""A served websocket, and somebody who writes its bytes by hand."""

import asyncio
from contextlib import asynccontextmanager, suppress

from turnlog.testing.tabs import serve_sockets

KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3
HEAD = {
    "host": "x",
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": KEY,
}


async def echo(scope, receive, send):
    """Sends back what it gets."""
    await receive()
    chosen = scope["subprotocols"][0] if scope["subprotocols"] else None
    await send({"type": "websocket.accept", "subprotocol": chosen, "headers": [(b"x-a", b"b")]})
    while (message := await receive())["type"] == "websocket.receive":
        await send(message | {"type": "websocket.send"})


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
