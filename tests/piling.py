"""Somebody who lets the body of an answer pile up, and the server that it comes from."""

import asyncio
from contextlib import asynccontextmanager
from contextvars import ContextVar

from hostile_model import BEGIN
from own_ticks import Ticks
from raw_server import HEAD, chunk, listening, until

from turnlog.engines.claude.http.pool import Pool, Silence
from turnlog.engines.claude.http.route import Route

turn = ContextVar("turn", default="nobody's")
REQUEST = b"GET / HTTP/1.1\r\n\r\n"


class Reading:
    """Somebody who lets a body pile up, and the server that it comes from."""

    def __init__(self, pool, server):
        self.pool, self.server = pool, server
        self.ticks, self.taken, self.wants_more = Ticks(), [], True
        self.body = self.piling = None

    async def ask(self):
        self.body = await self.pool.ask(REQUEST)
        await self.body.head()

    async def begin(self):
        """Ask, read the first piece, and let the rest pile up."""
        await self.ask()
        self.send(chunk(BEGIN))
        assert await self.body.read() == BEGIN
        self.piling = asyncio.create_task(self.body.pile_up(self.ticks, self._take))
        return self.piling

    async def leave(self):
        """Nobody reads on."""
        if self.piling is not None:
            self.piling.cancel()
            await asyncio.wait([self.piling])
        if self.body is not None:
            await self.body.aclose()

    def _take(self, piece):
        self.taken.append(piece)
        self.called_in = turn.get()
        if isinstance(self.wants_more, Exception):
            raise self.wants_more
        return self.wants_more() if callable(self.wants_more) else self.wants_more

    def send(self, data):
        self.server.caller.send(data)

    async def waits(self, size):
        """Until so many bytes have piled up."""
        await until(lambda: self.body._waiter is not None and self.body._size >= size)


@asynccontextmanager
async def serving(ssl=None):
    async with listening(HEAD, ssl=ssl) as server:
        url = server.url.replace("http", "https" if ssl else "http")
        pool = Pool(Route(url).connect, Silence(600.0, 600.0))
        reading = Reading(pool, server)
        yield reading
        await reading.leave()
        await pool.close()
