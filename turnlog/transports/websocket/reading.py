"""Bytes of a client, however they are cut, read as messages. No I/O.

What RFC 6455 forbids raises Broken with the code that the socket is closed with. What waits here
is never larger than one message may be.
"""

import struct
import sys
from collections.abc import Iterator
from typing import Any

from turnlog.transports.websocket.frames import (
    BAD_TEXT,
    BINARY,
    CLOSE,
    CONTINUATION,
    NO_CODE,
    PING,
    PONG,
    PROTOCOL_ERROR,
    TEXT,
    TOO_LARGE,
    WHOLE,
)

RESERVED, MASKED = 0x70, 0x80
MASK = 4  # bytes
MOST_FRAGMENTS = 1000  # of a message
# By the length in the second byte: how many bytes of length follow, and how they are read.
LENGTHS = {126: (2, struct.Struct("!H")), 127: (8, struct.Struct("!Q"))}
DATA, CONTROL = (TEXT, BINARY), (CLOSE, PING, PONG)
Message = tuple[int, Any]  # what it is, and what it says: str for TEXT, else bytes


class Broken(Exception):
    """A client does what the protocol forbids. `code`: what it is told."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Reader:
    """One client's bytes. After Broken, or CLOSE, there is nothing more to read."""

    __slots__ = ("_buffer", "_fragments", "_kind", "_parts", "frames", "is_behind",
                 "most_bytes")  # fmt: skip

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes  # of one message, all its fragments together
        self._buffer = bytearray()  # the beginning of a frame
        self._kind: int | None = None  # of the message whose fragments come
        self._parts = bytearray()
        self._fragments = 0
        self.frames = 0  # that were read
        self.is_behind = False  # there may be frames that are not read yet

    def feed(self, data: bytes, most_frames: int = sys.maxsize) -> Iterator[Message]:
        """The messages that are whole now, in their order. Raises Broken.

        After `most_frames`, or where nobody asks on, the rest waits for the next call.
        """
        self._buffer += data
        self.is_behind = True
        for _ in range(most_frames):
            if (frame := self._frame()) is None:
                self.is_behind = False
                return
            self.frames += 1
            opcode, whole, payload = frame
            if opcode in CONTROL:
                yield opcode, payload
            elif (message := self._joined(opcode, whole, payload)) is not None:
                yield message

    def _frame(self) -> tuple[int, bool, bytes] | None:
        """The next frame, if all of it is here: what it is, whether it is the last of its message,
        and what it says.
        """
        buffer, at = self._buffer, 2
        if len(buffer) < at:
            return None
        first, second = buffer[0], buffer[1]
        size = second & 0x7F
        self._check(first, second, size)
        if size in LENGTHS:
            width, number = LENGTHS[size]
            if len(buffer) < at + width:
                return None
            (size,) = number.unpack_from(buffer, at)
            at += width
        if size + len(self._parts) > self.most_bytes and first & 0xF not in CONTROL:
            raise Broken(TOO_LARGE, f"a message has at most {self.most_bytes} bytes")
        begin, end = at + MASK, at + MASK + size
        if len(buffer) < end:
            return None
        payload = unmasked(buffer[begin:end], buffer[at:begin])
        del buffer[:end]
        return first & 0xF, bool(first & WHOLE), payload

    def _check(self, first: int, second: int, size: int) -> None:
        opcode = first & 0xF
        if first & RESERVED:
            raise Broken(PROTOCOL_ERROR, "a reserved bit is set")
        if not second & MASKED:
            raise Broken(PROTOCOL_ERROR, "a frame is not masked")
        if opcode in CONTROL:
            if not first & WHOLE or size > 125:
                raise Broken(PROTOCOL_ERROR, "a control frame is cut or too long")
        elif opcode == CONTINUATION:
            if self._kind is None:
                raise Broken(PROTOCOL_ERROR, "nothing is there to be continued")
        elif opcode not in DATA:
            raise Broken(PROTOCOL_ERROR, f"there is no opcode {opcode}")
        elif self._kind is not None:
            raise Broken(PROTOCOL_ERROR, "a message begins inside of another one")

    def _joined(self, opcode: int, whole: bool, payload: bytes) -> Message | None:
        """The message, if this is its end."""
        kind = self._kind if self._kind is not None else opcode
        if not whole:
            self._kind = kind
            self._parts += payload
            self._fragments += 1
            if self._fragments >= MOST_FRAGMENTS:
                raise Broken(TOO_LARGE, f"a message has at most {MOST_FRAGMENTS} fragments")
            return None
        if self._kind is not None:
            payload = bytes(self._parts) + payload
            self._kind, self._parts, self._fragments = None, bytearray(), 0
        return kind, text_of(payload) if kind == TEXT else payload


def unmasked(payload: bytes | bytearray, mask: bytes | bytearray) -> bytes:
    """RFC 6455, 5.3: each byte, exclusive or one of the mask's, in turn."""
    size = len(payload)
    whole_mask = (mask * (size // MASK + 1))[:size]
    value = int.from_bytes(payload, "little") ^ int.from_bytes(whole_mask, "little")
    return value.to_bytes(size, "little")


def text_of(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        raise Broken(BAD_TEXT, "a text is not UTF-8") from None


def closing(payload: bytes) -> int:
    """The code of a close frame. Raises Broken for what cannot be one."""
    if not payload:
        return NO_CODE
    if len(payload) == 1:
        raise Broken(PROTOCOL_ERROR, "half a code")
    (code,) = struct.unpack_from("!H", payload)
    # RFC 6455, 7.4: 1004 to 1006 and 1015 are never sent; below 1000 and 1016 to 2999 are nobody's
    if not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise Broken(PROTOCOL_ERROR, f"there is no code {code}")
    text_of(payload[2:])
    return int(code)
