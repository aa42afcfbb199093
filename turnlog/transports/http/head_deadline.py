"""A connection that never finishes the head of its request is closed, and holds nothing.

Nor does one become a websocket while something else is under way on it.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

WITHIN = 30.0  # seconds from the first byte, or from the connection, to the end of the head


class HeadDeadline(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # uvicorn chooses it
    """uvicorn's protocol; it waits for ever for the rest of a head."""

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_idle() and self._closing is None:
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()
        elif self.transport.get_protocol() is not self:  # it has become a websocket
            self._stop_waiting()
            self.parser = None  # which has us: nothing is left to be collected
            if not data.endswith(b"\n") and not self.transport.is_closing():
                self.transport.abort()  # frames before the answer: uvicorn has dropped them

    def handle_websocket_upgrade(self, *head: Any) -> None:
        """The answer would come into the middle of another one, or behind one that nobody reads."""
        if not self._is_idle() or self.flow.write_paused:
            self.transport.abort()
        elif self.scope["http_version"] != "1.1":
            self.send_400_response("A websocket needs HTTP/1.1.")
        else:
            super().handle_websocket_upgrade(*head)

    def _is_idle(self) -> bool:
        """Whether no request is being answered, so that what comes is the head of one."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._closing = asyncio.get_running_loop().call_later(WITHIN, self._close)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def _close(self) -> None:
        self._closing = None
        if self._is_idle() and self.transport.get_protocol() is self:
            self.transport.close()
