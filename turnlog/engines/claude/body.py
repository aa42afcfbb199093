"""The body of an answer, read at a pace.

Between the socket and aiohttp's reader lies a dam. While a window lasts, pieces of text pile up in
front of it: nothing is parsed and nobody is woken for them. When the window ends they are parsed,
decoded and shown, all at once. What may be more than text goes through at once, with all that
came before it, so that the end of an answer does not wait, nor does an error.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, NamedTuple

from turnlog.ticks import Ticks

if TYPE_CHECKING:
    from aiohttp import ClientResponse

Take = Callable[[bytes], bool]  # False: whoever waits for the body has to see to it
ENDS_WITHIN = 0.5  # seconds between the end of an answer and the end of its response
_LAST_CHUNK = b"\r\n0\r\n"  # of a body, also of one that was cut
MOST_PILED_UP = 65_536  # bytes; more go through, and aiohttp stops reading when it has enough


class Dam(asyncio.Protocol):
    """Lies between a transport and its reader, which gets all that comes, in its order."""

    def __init__(
        self, transport: asyncio.Transport, reader: asyncio.Protocol, flowed: Callable[[], None]
    ) -> None:
        """`flowed`: called when something went through, or could have."""
        self.is_shut = False  # text piles up
        self._transport: asyncio.Transport | None = transport
        self._reader = reader
        self._flowed = flowed
        self._pieces: list[bytes] = []
        self._size = 0
        transport.set_protocol(self)

    def flow(self) -> None:
        """Let go through what has piled up."""
        if self._pieces:
            whole = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._reader.data_received(whole)
        self._flowed()

    def remove(self) -> None:
        """The transport goes back to its reader."""
        if self._transport is not None:
            self._transport.set_protocol(self._reader)
            self._transport = None

    # what the transport says

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if not (self.is_shut and _is_text(data) and self._size < MOST_PILED_UP):
            self.flow()

    def eof_received(self) -> bool | None:
        self.flow()
        return self._reader.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.flow()
        self._reader.connection_lost(exc)
        self._flowed()

    def pause_writing(self) -> None:
        self._reader.pause_writing()

    def resume_writing(self) -> None:
        self._reader.resume_writing()


def _is_text(data: bytes) -> bool:
    """Whether this is sure to be pieces of a block, and nothing that anybody waits for."""
    if b"message_" in data or b"event: error" in data or _LAST_CHUNK in data:
        return False
    return b"content_block_delta" in data


class _Waiter(NamedTuple):
    """Who waits while bytes pile up."""

    woken: asyncio.Future[None]
    take: Take
    ticks: Ticks
    context: Context  # ticks and transports call from that of another turn


class Body:
    """The body of a response of aiohttp, whose reader collects what nobody waits for."""

    def __init__(self, response: "ClientResponse") -> None:
        self._response = response
        self._content = response.content
        self._dam: Dam | None = None
        self._waiter: _Waiter | None = None
        self._ticking = False  # the end of the window calls
        self._end: asyncio.Task[None] | None = None  # also of aiohttp's patience with a silence

    async def read(self) -> bytes:
        try:
            return self._come() or await self._content.readany()
        except Exception:
            # aiohttp says what broke a body before it gives what had come of it.
            if piece := self._come():
                return piece
            raise

    async def pile_up(self, ticks: Ticks, take: Take) -> None:
        if self._is_over or (dam := self._dam or self._new_dam()) is None:
            return
        woken = asyncio.get_running_loop().create_future()
        self._waiter = _Waiter(woken, take, ticks, copy_context())
        self._shut(dam)
        try:
            await woken
        finally:
            self._waiter, dam.is_shut = None, False
            dam.flow()

    async def finish(self) -> None:
        from aiohttp import ClientError

        try:
            async with asyncio.timeout(ENDS_WITHIN):
                while await self.read():
                    pass
        except (ClientError, OSError, TimeoutError):
            pass

    async def aclose(self) -> None:
        if self._dam is not None:
            self._dam.remove()
        if self._end is not None:
            self._end.cancel()
        self._response.close()  # one that was read to its end has given its connection back

    # inside

    @property
    def _is_over(self) -> bool:
        """Whether nothing more comes. Not all that came may have been read."""
        return self._content.is_eof() or self._content.exception() is not None

    def _come(self) -> bytes:
        """What has come, as one piece: aiohttp asks its transport for more after each."""
        pieces = self._content._buffer
        if len(pieces) > 1:
            whole = b"".join(pieces)
            pieces.clear()
            pieces.append(whole)
        return self._content._read_nowait(-1) if pieces else b""

    def _new_dam(self) -> Dam | None:
        connection = self._response.connection
        if connection is None or connection.transport is None or connection.protocol is None:
            return None
        self._dam = Dam(connection.transport, connection.protocol, self._flowed)
        self._end = asyncio.create_task(self._content.wait_eof())
        self._end.add_done_callback(self._ended)
        return self._dam

    def _ended(self, end: asyncio.Task[None]) -> None:
        if not end.cancelled():
            end.exception()  # whoever reads on meets it
            self._flowed()

    def _shut(self, dam: Dam) -> None:
        """Until the window ends."""
        dam.is_shut = True
        if not self._ticking and self._waiter is not None:
            self._ticking = True
            self._waiter.ticks.call_next(self._tick)

    def _tick(self) -> None:
        self._ticking = False
        if self._waiter is not None and self._dam is not None:
            self._dam.flow()

    def _flowed(self) -> None:
        """Give what has come to whoever takes it. After a window in which nothing came the dam
        stays open: what comes next has waited for nobody, and is shown at once."""
        waiter, dam = self._waiter, self._dam
        if dam is None:
            return
        if self._content.is_eof():  # the connection may be somebody else's
            dam.remove()
        if waiter is None or waiter.woken.done():
            return
        try:
            piece = self._come()
            takes_more = not piece or waiter.context.run(waiter.take, piece)
        except Exception as error:
            waiter.woken.set_exception(error)
            return
        if not takes_more or self._is_over:
            waiter.woken.set_result(None)
        elif piece:
            self._shut(dam)
        else:
            dam.is_shut = False
