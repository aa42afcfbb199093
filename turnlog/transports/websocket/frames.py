"""WebSocket frames as bytes: made once, and written to everybody who watches.

What a server sends is not masked, so the frame of one client is the frame of all (RFC 6455, 5.3).
"""

import struct

CONTINUATION, TEXT, BINARY = 0x0, 0x1, 0x2
CLOSE, PING, PONG = 0x8, 0x9, 0xA
WHOLE = 0x80  # the bit of a message's last frame

# RFC 6455, 7.4.1: why a socket is closed
NORMAL, PROTOCOL_ERROR, NO_CODE, ABNORMAL = 1000, 1002, 1005, 1006
BAD_TEXT, TOO_MANY, TOO_LARGE, BUG, RESTART = 1007, 1008, 1009, 1011, 1012

MOST_BYTES = 2_600_000  # of a client's message: the largest packet of Socket.IO
MOST_OF_A_STRANGER = 65_536  # bytes, before it has said who it is: a token is smaller


class Parcel:
    """A message for any number of clients, mostly a text. Its frame is made once."""

    __slots__ = ("_size", "frame")

    def __init__(self, text: bytes, opcode: int = TEXT) -> None:
        self._size = size = len(text)
        if size < 126:
            self.frame = bytes((WHOLE | opcode, size)) + text
        elif size < 65_536:
            self.frame = struct.pack("!BBH", WHOLE | opcode, 126, size) + text
        else:
            self.frame = struct.pack("!BBQ", WHOLE | opcode, 127, size) + text

    @property
    def text(self) -> bytes:
        """For those who are not written frames."""
        return self.frame[-self._size :] if self._size else b""

    def __len__(self) -> int:
        return self._size


def frame_of(payload: bytes, opcode: int = TEXT) -> bytes:
    """A whole message as one frame."""
    return Parcel(payload, opcode).frame


def close_frame(code: int, reason: str = "") -> bytes:
    """The last frame. A reason is cut where a control frame is full."""
    if code == NO_CODE:
        return frame_of(b"", CLOSE)
    said = reason.encode()[:123].decode(errors="ignore").encode()
    return frame_of(struct.pack("!H", code) + said, CLOSE)
