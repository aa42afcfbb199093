"""A websocket of our server as ASGI has it: messages to receive, and messages to send."""

import asyncio
from collections import deque
from typing import Any

from starlette.types import Message

from turnlog.transports.websocket.connection import WebSocket
from turnlog.transports.websocket.frames import ABNORMAL, BINARY, NORMAL, TEXT

MOST_WAITING = 65_536  # bytes or characters that are not received yet; more stay with the client
GONE: Message = {"type": "websocket.disconnect", "code": ABNORMAL, "reason": ""}


class Conversation:
    """A Listener for an application that takes no line."""

    _line: WebSocket

    def __init__(self) -> None:
        self._inbox: deque[str | bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._over = False

    # the listener

    def opened(self, line: Any) -> None:
        self._line = line

    def heard(self, message: str | bytes) -> None:
        self._inbox.append(message)
        self._size += len(message) + 1  # an empty one takes its place too
        self._news.set()
        if self._size > MOST_WAITING:
            self._line.pause_reading()

    def drained(self) -> None:
        self._room.set()

    def lost(self) -> None:
        self._over = True
        self._news.set()
        self._room.set()

    # ASGI

    async def receive(self) -> Message:
        while not self._inbox:
            if self._over:
                return GONE
            self._news.clear()
            await self._news.wait()
        message = self._inbox.popleft()
        self._size -= len(message) + 1
        if not self._inbox and not self._over:
            self._line.resume_reading()
        kind = "text" if isinstance(message, str) else "bytes"
        return {"type": "websocket.receive", kind: message}

    async def send(self, message: Message) -> None:
        """Raises OSError where nobody is there, as ASGI has it."""
        while self._line.is_full and not self._over:
            self._room.clear()
            await self._room.wait()
        if self._over:
            raise OSError("the websocket is closed")
        if message["type"] == "websocket.close":
            self.end(message.get("code", NORMAL), message.get("reason") or "")
        elif (text := message.get("text")) is not None:
            self._line.write_bytes(text.encode(), TEXT)
        else:
            self._line.write_bytes(message["bytes"], BINARY)

    def end(self, code: int, reason: str = "") -> None:
        self._line.close(code, reason)
        self.lost()
