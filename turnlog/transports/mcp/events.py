"""The last messages of MCP streams, so that a client whose connection broke gets the rest.

In memory, and bounded: whoever comes too late asks again. An agent's turn is in the log anyway.
The official server numbers streams within an MCP session, so two sessions have a stream `1`: here
every session has a room of its own, whose name cannot be guessed.
"""

from collections import deque
from contextvars import ContextVar
from itertools import count
from typing import Any, NamedTuple

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore

MOST_BYTES = 16_000_000  # of all that is remembered
ROOM: ContextVar[str] = ContextVar("room of the MCP session")


class _Kept(NamedTuple):
    room: str
    number: int
    stream: str
    message: Any  # None: only a place to come back to
    size: int


class RecentEvents(EventStore):
    """The newest messages of all sessions."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._numbers = count(1)
        self._kept: deque[_Kept] = deque()

    async def store_event(self, stream_id: str, message: Any) -> str:
        room = ROOM.get()
        size = 100 + (len(message.model_dump_json()) if message is not None else 0)
        kept = _Kept(room, next(self._numbers), stream_id, message, size)
        self._kept.append(kept)
        self._size += size
        while self._size > self._most:
            self._size -= self._kept.popleft().size
        return f"{room}-{kept.number}"

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """The stream, or None where the event is forgotten or is another session's."""
        room, _, number = last_event_id.rpartition("-")
        if room != ROOM.get():
            return None
        mine = [kept for kept in self._kept if kept.room == room]
        last = next((kept for kept in mine if str(kept.number) == number), None)
        if last is None:
            return None
        for kept in mine:
            is_next = kept.stream == last.stream and kept.number > last.number
            if is_next and kept.message is not None:
                await send_callback(EventMessage(kept.message, f"{room}-{kept.number}"))
        return last.stream
