"""One request and its response. While it lasts, it hears what the connection hears.

What comes is not looked at before somebody wants it. Whoever shows it lets it pile up: while a
window lasts, nobody is woken for text, and when it ends all of it is taken at once. What comes in
and may be more than text does not wait, nor does the end of the body, nor whatever breaks it.
Where text comes fast, the little that is no end does not even come in before the window is over.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from math import inf
from typing import NamedTuple, Protocol

from turnlog.engines.claude.http.framing import Framing
from turnlog.engines.claude.http.head import Head, Heads
from turnlog.engines.claude.http.sluice import Sluice
from turnlog.ticks import Ticks

Take = Callable[[bytes], bool]  # False: whoever waits for the body has to see to it
MOST_PILED_UP = 65_536  # bytes; more do not wait for the window
MOST_UNREAD = 4_194_304  # bytes; more are not received while nobody reads
FAST = 200  # bytes of text within a window: two pieces have more, and one mostly has less
LONGEST_HOLD = 0.1  # seconds: so late may an error come that comes alone
AT_ONCE = 262_144  # bytes of a request; more are sent as the server takes them
_EVENT = b"\nevent: "  # no JSON has such a line
_PIECE = _EVENT + b"content_block_delta"
_END_OF_PIECE = b"\n\n\r\n"  # that ends a chunk
_LAST_CHUNK = b"\r\n0\r\n"  # of a body, also of one that was cut


class Owner(Protocol):
    """Of a connection."""

    def take_back(self, exchange: "Exchange", *, is_kept: bool) -> None:
        """The exchange does not need its connection any more. `is_kept`: another one may use it."""
        ...


class _Waiter(NamedTuple):
    """Who waits while bytes pile up."""

    woken: asyncio.Future[None]
    take: Take
    ticks: Ticks
    fast: float  # more bytes than that within a window come fast
    context: Context  # ticks and transports call from that of another turn


class Exchange:
    """Gives its connection back when the body has ended, or when it is closed."""

    def __init__(self, transport: asyncio.Transport, owner: Owner) -> None:
        self.transport = transport
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._framing: Framing | None = None  # the head has not come
        self._heads = Heads()
        self._stays_open = False
        self._pieces: list[bytes] = []  # that nobody has looked at
        self._size = 0  # of them
        self._is_urgent = False  # they may be more than text
        self._is_cut = False  # the last of them ends in the middle of something
        self._is_paused = False  # nobody reads, and much has come
        self._is_closed = False  # no more will come
        self._why: Exception | None = None
        self._is_done = False  # the connection is given back
        self._passed_over: int | None = None  # bytes that nobody wants
        self._looks = 0  # of the owner, since something came or went
        self._unsent: memoryview | bytes = b""  # of the request
        self._is_full = False  # the server takes no more of it now
        self._left = 0  # bytes to be sent, at the last look
        self._woken: asyncio.Future[None] | None = None  # of who reads
        self._waiter: _Waiter | None = None
        self._sluice = Sluice(transport)  # text piles up while it is shut
        self._ticking = False  # the ends of windows call

    # for who asked

    async def head(self) -> Head:
        """The first that is to be asked for. Raises Broken or OSError."""
        try:
            while not self._pieces or (head := self._read_head()) is None:
                if self._is_closed:
                    raise self._why or ConnectionResetError("The server closed the connection.")
                await self._arrival()
        except BaseException:
            self._give_back()
            raise
        self._framing, self._stays_open = head.framing, head.stays_open
        return head

    async def read(self) -> bytes:
        """What has come, or the next that comes; empty at the end. Raises what breaks it."""
        while not (piece := self._taken()) and not self._is_done:
            await self._arrival()
        if not piece and self._framing and self._framing.error:
            raise self._framing.error
        return piece

    async def pile_up(self, ticks: Ticks, take: Take) -> None:
        """Let bytes come in, and give them to `take` at each tick, without waking anybody. Returns
        when `take` returns False, and when the body has ended."""
        woken = self._loop.create_future()
        fast = FAST if ticks.seconds <= LONGEST_HOLD else inf
        self._waiter = _Waiter(woken, take, ticks, fast, copy_context())
        if self._is_urgent or self._is_closed:
            self._give()
        else:
            self._shut(ticks, holds=False)
        try:
            await woken
        finally:
            self._waiter = None
            self._sluice.open()

    async def finish(self) -> None:
        """Nobody wants the rest. If it ends soon, its connection is used again."""
        self._passed_over = self._looks = 0
        self._pass_over()

    async def aclose(self) -> None:
        if self._passed_over is None:
            self._give_back()

    # for the owner

    def send(self, rest: memoryview) -> None:
        """Of the request. Under TLS the transport does not say what lies below it to be sent, so
        it gets no more than it takes: what is left here tells how the sending goes on."""
        self._unsent = rest
        self._send()

    @property
    def has_more(self) -> bool:
        """Whether something came behind what was read."""
        return bool(self._pieces)

    @property
    def has_begun(self) -> bool:
        """Whether the head has come."""
        return self._framing is not None

    def is_overdue(self, looks: int) -> bool:
        """Whether nothing came or went for so many looks, or nobody waits for what is to come."""
        left = len(self._unsent) + self.transport.get_write_buffer_size()
        if self._passed_over is not None:
            looks = 2  # the first comes early
        elif self._is_paused or left != self._left:
            self._looks = 0
        self._left = left
        self._looks += 1
        return self._looks >= looks

    def end(self, why: Exception) -> None:
        """Whoever reads gets what has come, and then this."""
        self._lose(why)
        self.transport.abort()

    # what the connection hears

    def data_received(self, data: bytes) -> None:
        self._pile(data)
        if self._is_urgent or not self._sluice.is_shut:
            self._arrived()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc)

    # inside

    def _pile(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._passed_over is None:
            self._looks = 0
        self._is_cut = data[-4:] != _END_OF_PIECE
        if (  # what ends an answer is behind its last piece
            not data.startswith(_PIECE, data.rfind(_EVENT))
            or (self._is_cut and _LAST_CHUNK in data)
            or self._size >= MOST_PILED_UP
        ):
            self._is_urgent = True

    def _send(self) -> None:
        while self._unsent and not self._is_full and not self._is_closed:
            piece, self._unsent = self._unsent[:AT_ONCE], self._unsent[AT_ONCE:]
            self.transport.write(piece)

    def _lose(self, why: Exception | None) -> None:
        if not self._is_closed:
            self._is_closed, self._why = True, why
            self._arrived()

    def _arrived(self) -> None:
        """Something came that does not wait, or nothing more will."""
        if self._waiter is not None:
            self._give()
        elif self._woken is not None:
            if not self._woken.done():
                self._woken.set_result(None)
        elif self._passed_over is not None:
            self._pass_over()
        elif self._size >= MOST_UNREAD and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    async def _arrival(self) -> None:
        self._woken = self._loop.create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    def _piled_up(self) -> bytes:
        pieces = self._pieces
        self._pieces, self._size, self._is_urgent = [], 0, False
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
        return b"".join(pieces)

    def _read_head(self) -> Head | None:
        head = self._heads.feed(self._piled_up())
        if head is not None and (rest := self._heads.rest):
            self._pieces, self._size, self._is_urgent = [rest], len(rest), True
        return head

    def _taken(self) -> bytes:
        """What has come of the body, as one piece."""
        framing = self._framing
        assert framing is not None, "the head of a response comes before its body"
        piece = framing.feed(self._piled_up()) if self._pieces else b""
        if self._is_closed:
            framing.close(self._why)
        if framing.is_over or framing.error:
            self._give_back()
        return piece

    def _pass_over(self) -> None:
        if not self._is_done and self._passed_over is not None:
            self._passed_over += self._size
            self._taken()
            if self._passed_over >= MOST_PILED_UP:
                self._give_back()

    def _give_back(self) -> None:
        if self._is_done:
            return
        self._is_done, framing = True, self._framing
        is_over = framing is not None and framing.is_over and not framing.has_more
        is_kept = (
            is_over
            and self._stays_open
            and not self._is_closed
            and not self._pieces
            and not self._unsent
            and not self._is_full
            and not self.transport.get_write_buffer_size()
        )
        if not is_over and not self._is_closed:
            self._why = ConnectionAbortedError("It was not read to its end.")
        self._is_closed = True
        self._sluice.open()
        self._owner.take_back(self, is_kept=is_kept)

    def _shut(self, ticks: Ticks, *, holds: bool) -> None:
        """Until the window ends."""
        self._sluice.shut(holds=holds)
        if not self._ticking:
            self._ticking = True
            ticks.call(self._tick)

    def _tick(self) -> bool:
        """The window is over: take what there is, and give it. After one in which nothing came text
        does not pile up: what comes next has waited for nobody, and is shown at once."""
        if piece := self._sluice.take():
            self._pile(piece)
        is_open = not self._sluice.is_shut  # under TLS: something is there
        if self._pieces and self._waiter is not None:
            self._give()
        else:
            is_open = True
        if is_open:
            self._sluice.open()
        self._ticking = self._sluice.is_shut
        return self._ticking

    def _give(self) -> None:
        """Give what has come to whoever waits."""
        waiter = self._waiter
        if waiter is None or waiter.woken.done():
            return
        may_be_a_part = self._is_urgent or self._is_cut  # of an end: the rest of it may not wait
        try:
            piece = self._taken()
            takes_more = not piece or waiter.context.run(waiter.take, piece)
        except Exception as error:
            if not waiter.woken.done():
                waiter.woken.set_exception(error)
            return
        if waiter.woken.done():
            return  # whoever took it has stopped whoever waits
        if self._is_done or not takes_more:
            waiter.woken.set_result(None)
        elif not piece:
            self._sluice.open()
        else:
            holds = len(piece) > waiter.fast and not may_be_a_part
            if holds != self._sluice.holds or not self._ticking:  # most go on as the last window
                self._shut(waiter.ticks, holds=holds)
