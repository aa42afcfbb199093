"""Connections to one server, while they are used and while they wait for the next request.

One timer looks at all of them now and then. It counts looks, not seconds: a machine that stood
still for a while has not heard a server that was silent.
"""

import asyncio
from collections.abc import Awaitable, Callable
from math import ceil
from typing import NamedTuple, cast

from turnlog.engines.claude.http.exchange import AT_ONCE, Exchange

STAYS_OPEN = 60.0  # seconds that a connection waits for the next request, at the most
EVERY = 10.0  # seconds between two looks, at the most
LOOKS = 8  # for the seconds that a server may be silent within an answer, at the least


class Closed(Exception):
    """This side asks nothing any more."""


class Silence(NamedTuple):
    """How many seconds a server may say nothing."""

    before: float  # its answer
    within: float


class Silent(TimeoutError):
    """The server said nothing for longer."""


class Link(asyncio.Protocol):
    """A connection. While nobody uses it nothing was asked for, so whatever comes ends it.

    It passes on what the transport says, which keeps its protocol for life: for another one
    uvloop would stop and start the reading, with two calls of the system.
    """

    def __init__(self) -> None:
        self.exchange: Exchange | None = None  # who uses it
        self.transport: asyncio.Transport
        self.is_made = False  # it has a transport
        self.is_lost = False
        self.looks = 0  # while it waits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's only look like one
        self.is_made = True

    def data_received(self, data: bytes) -> None:
        if self.exchange is not None:
            self.exchange.data_received(data)
        else:
            self.is_lost = True
            self.transport.abort()

    def pause_writing(self) -> None:
        if self.exchange is not None:
            self.exchange.pause_writing()

    def resume_writing(self) -> None:
        if self.exchange is not None:
            self.exchange.resume_writing()

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if self.exchange is not None:
            self.exchange.connection_lost(exc)


class Pool:
    """As many connections as there are requests at a time."""

    def __init__(self, connect: Callable[[], Awaitable[Link]], silence: Silence) -> None:
        looks = max(LOOKS, ceil(silence.within / EVERY))
        self._connect = connect
        self._every = silence.within / looks
        self._silent_looks = looks + 1  # the first comes early
        self._first_looks = ceil(silence.before / self._every) + 1
        self._kept_looks = int(STAYS_OPEN / self._every)
        self._silence = silence
        self._kept: list[Link] = []  # the newest last
        self._used: dict[Exchange, Link] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(self, head: bytes, body: bytes = b"") -> Exchange:
        """Send them. Raises OSError or Broken where no connection comes about, and Closed."""
        connection = self._kept_one() or await self._connect()
        transport = connection.transport
        if self._is_closed:
            transport.abort()
            raise Closed("This side has closed its connections.")
        if connection.is_lost:
            raise ConnectionResetError("The server closed the connection.")
        exchange = connection.exchange = Exchange(transport, self)
        self._used[exchange] = connection
        # An empty piece is never sent from Python 3.12 on: the loop would spin on it until the end.
        transport.writelines((head, body[:AT_ONCE]) if body else (head,))
        if len(body) > AT_ONCE:
            exchange.send(memoryview(body)[AT_ONCE:])
        if self._looking is None:
            self._look_later()
        return exchange

    def take_back(self, exchange: Exchange, *, is_kept: bool) -> None:
        connection = self._used.pop(exchange)
        connection.exchange = None
        if is_kept:
            connection.looks = 0
            self._kept.append(connection)
        else:
            connection.transport.abort()

    async def close(self) -> None:
        self._is_closed = True
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        for exchange in [*self._used]:
            exchange.end(ConnectionAbortedError("This side closed the connection."))
        for connection in self._kept:
            connection.transport.abort()
        self._kept.clear()
        await asyncio.sleep(0)  # sockets are closed in the loop's next round

    def _kept_one(self) -> Link | None:
        """The one that was used last: it is the least likely to be closed by the server."""
        while self._kept:
            connection = self._kept.pop()
            if not connection.is_lost:
                return connection
        return None

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(self._every, self._look)

    def _look(self) -> None:
        for exchange in [*self._used]:
            looks, seconds = self._silent_looks, self._silence.within
            if not exchange.has_begun:
                looks, seconds = self._first_looks, self._silence.before
            if exchange.is_overdue(looks):
                exchange.end(Silent(f"Nothing came for {seconds:g} seconds."))
        for connection in self._kept:
            connection.looks += 1
            if connection.looks >= self._kept_looks:
                connection.transport.abort()
        self._kept = [c for c in self._kept if not c.is_lost and c.looks < self._kept_looks]
        self._looking = None
        if self._used or self._kept:
            self._look_later()
