"""A small TCP proxy: each connection goes to the next of its targets. It can be cut."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import cycle

Target = tuple[str, int]


class Proxy:
    """Forwards to its targets in turn; passes over those that do not answer."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.port = 0
        self.is_cut = False  # a cut network swallows: nobody is told
        self.targets = list(targets)  # one of them may be replaced
        self._places = cycle(range(len(targets)))
        self._open: set[asyncio.Task[None]] = set()
        self._healed = asyncio.Event()
        self._healed.set()

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._forward, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._healed.set()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    def cut(self) -> None:
        """Nothing passes any more, in either direction, and nobody is told."""
        self._healed.clear()

    def heal(self) -> None:
        """What comes from now on passes; connections from before are gone."""
        for task in list(self._open):
            task.cancel()
        self._healed.set()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._healed.wait()
            there = await self._next()
            if there is not None:
                await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))
        except asyncio.CancelledError:
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self.targets:
            host, port = self.targets[next(self._places)]
            with suppress(OSError):
                return await asyncio.open_connection(host, port)
        return None

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._healed.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()
