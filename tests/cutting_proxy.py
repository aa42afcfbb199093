"""A way to a server that breaks: each connection is cut after so many bytes of its answer."""

import asyncio
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def cutting_proxy(port, cuts):
    """The url of the proxy. `cuts`: bytes after which the first, second … connection is cut."""
    left = list(cuts)

    async def pump(reader, writer, most):
        passed = 0
        with suppress(ConnectionError):
            while piece := await reader.read(4096):
                piece = piece[: most - passed] if most else piece
                passed += len(piece)
                writer.write(piece)
                await writer.drain()
                if most and passed >= most:
                    break
        writer.transport.abort() if most else writer.close()

    async def connected(reader, writer):
        most = left.pop(0) if left else None
        there, back = await asyncio.open_connection("127.0.0.1", port)
        up = asyncio.create_task(pump(reader, back, None))
        await pump(there, writer, most)
        back.close()
        up.cancel()
        with suppress(asyncio.CancelledError):
            await up

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", left
