"""The head of an answer, which goes out with the first part of its body: one send, not two.

uvicorn sends it at once, and the body after it. Here it waits until the loop comes round, and no
longer: whoever opens a stream sees that it is open before anything comes. ASGI leaves that to the
server (django/asgiref, issues 138 and 388).
"""

import asyncio
from typing import Any


class HeldHead:
    """Stands before the transport of a request until the head of its answer is out."""

    __slots__ = ("_cycle", "_head", "_transport")

    def __init__(self, cycle: Any) -> None:
        """`cycle`: uvicorn's, of a request and its answer."""
        self._cycle = cycle
        self._head = b""
        self._transport: asyncio.Transport = cycle.transport
        cycle.transport = self

    def write(self, data: bytes) -> None:
        if self._head:
            self._flush(data)
        else:
            self._head = data
            asyncio.get_running_loop().call_soon(self._flush)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self, data: bytes = b"") -> None:
        """The head with this, and step aside."""
        if self._cycle.transport is self:
            self._cycle.transport = self._transport
            if not self.is_closing():
                self._transport.write(self._head + data)
