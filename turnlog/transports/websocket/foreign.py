"""A websocket of somebody else's server, as a line: what is written waits in a queue of its own."""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Send

from turnlog.transports.websocket.frames import (
    MOST_BYTES,
    MOST_OF_A_STRANGER,
    NORMAL,
    TOO_LARGE,
    Parcel,
)

if TYPE_CHECKING:
    from turnlog.transports.websocket.line import Listener

MOST_WAITING = 65_536  # bytes in the queue of one client, before it is full
GOODBYE = 2.0  # seconds that a client has to read the rest


class ForeignSocket:
    """A Line over ASGI. One task hears, and another one writes while there is something."""

    def __init__(self, listener: "Listener", receive: Receive, send: Send) -> None:
        self.is_full = False
        self.listener = listener
        self._receive = receive
        self._send = send
        self._most_bytes = MOST_OF_A_STRANGER  # of a message
        self._waiting: deque[Parcel] = deque()
        self._size = 0
        self._hears = asyncio.Event()
        self._hears.set()
        self._code: int | None = None  # how it is to be closed
        self._running: asyncio.Task[Any] | None = None
        self._writing: asyncio.Task[None] | None = None
        self._late = False  # the client did not read the rest

    async def run(self) -> None:
        """Until one of both hangs up."""
        self._running = running = asyncio.current_task()
        await self._receive()  # websocket.connect
        await self._send({"type": "websocket.accept"})
        self.listener.opened(self)
        try:
            await self._hear()
        except asyncio.CancelledError:
            if not self._late or running is None:
                raise
            running.uncancel()
        finally:
            self._running = None
            if self._writing is not None:
                self._writing.cancel()
            if self._code is None:
                self._code = NORMAL
                self.listener.lost()

    def write(self, *parcels: Parcel) -> None:
        if self._code is None:
            self._waiting += parcels
            self._size += sum(map(len, parcels))
            self.is_full = self._size > MOST_WAITING
            self._begin_writing()

    write_soon = write  # a task writes, which the loop comes round to

    def welcome(self) -> None:
        self._most_bytes = MOST_BYTES

    def pause_reading(self) -> None:
        self._hears.clear()

    def resume_reading(self) -> None:
        self._hears.set()

    def close(self, code: int = NORMAL) -> None:
        if self._code is None:
            self._code = code
            self._hears.set()
            self._begin_writing()
            asyncio.get_running_loop().call_later(GOODBYE, self._give_up)

    async def _hear(self) -> None:
        """The server says when it has hung up, also where we asked it to."""
        while True:
            await self._hears.wait()
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            if self._code is None:
                text = message.get("text")
                self._heard(message["bytes"] if text is None else text)

    def _heard(self, message: str | bytes) -> None:
        """The server has a limit of its own, which may be larger."""
        if len(message) > self._most_bytes:
            self.close(TOO_LARGE)
            self.listener.lost()
        else:
            self.listener.heard(message)

    def _begin_writing(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting:
                parcel = self._waiting.popleft()
                await self._send({"type": "websocket.send", "text": parcel.text.decode()})
                self._size -= len(parcel)
                if self.is_full and self._size <= MOST_WAITING // 4:
                    self.is_full = False
                    self.listener.drained()
            if self._code is not None:
                await self._send({"type": "websocket.close", "code": self._code})
        except Exception:  # each server has its own word for a client that has gone
            self._waiting.clear()
        finally:
            self._writing = None

    def _give_up(self) -> None:
        if self._running is not None:
            self._late = True
            self._running.cancel()
