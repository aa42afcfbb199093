"""WebSocket frames as bytes: made once, and written to everybody who watches.

ASGI has no word for it: through `send`, each watcher's copy of an event is queued, encoded and
framed again. So our server offers an extension, and applications under another server, which has
none, send as they always did.
"""

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.protocol import OPEN

EXTENSION = "turnlog.frames"
TEXT = 0x81  # RFC 6455, 5.2: a text, whole; what servers send is not masked
WriteFrame = Callable[[bytes], bool]


class FramedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket, which also takes whole frames."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # it was not refused
            self.scope["extensions"][EXTENSION] = {"write": self.write_frame}

    def shutdown(self) -> None:
        """Hang up, also where the client does so at the same moment: uvicorn's own raises then."""
        with suppress(InvalidState):
            super().shutdown()
        self.transport.close()

    def write_frame(self, frame: bytes) -> bool:
        """Write the frame, if that can be done at once. Says whether it was."""
        ready = self.handshake_complete and self.conn.state is OPEN and not self.close_sent
        packed = bool(self.conn.extensions)  # what one client is sent is then no other's
        if not ready or packed or not self.writable.is_set() or self.transport.is_closing():
            return False
        self.transport.write(frame)
        return True


def frame_of(text: bytes) -> bytes:
    """The text as one frame."""
    size = len(text)
    if size < 126:
        return bytes((TEXT, size)) + text
    if size < 65_536:
        return struct.pack("!BBH", TEXT, 126, size) + text
    return struct.pack("!BBQ", TEXT, 127, size) + text


def writer_of(scope: Any) -> WriteFrame | None:
    """Writes frames to the client of this websocket; None where the server has no such thing."""
    extension = (scope.get("extensions") or {}).get(EXTENSION)
    return extension["write"] if extension else None
