"""WebSocket frames of clients, and those that a client may not send, with the code for each."""

import struct

from websockets.frames import Opcode

from turnlog.transports.websocket.frames import frame_of
from turnlog.transports.websocket.reading import unmasked

MOST = 100_000  # bytes of a message
MASK = b"\x12\xf0\x00\x7a"


def masked(opcode, payload=b"", fin=True):
    """A frame of a client."""
    frame = bytearray(frame_of(payload, opcode))
    frame[0] &= 0xFF if fin else 0x7F
    frame[1] |= 0x80
    at = len(frame) - len(payload)
    return bytes(frame[:at]) + MASK + unmasked(payload, MASK)


HALF = masked(Opcode.TEXT, b"a", fin=False)
HUGE = struct.pack("!BBQ", 0x82, 0xFF, 2**63)
HOSTILE = {
    "a reserved bit": (b"\xc1\x80" + bytes(4), 1002),
    "an unknown opcode": (b"\x83\x80" + bytes(4), 1002),
    "an unknown control opcode": (b"\x8b\x80" + bytes(4), 1002),
    "no mask": (b"\x81\x01a", 1002),
    "no mask, and only its first two bytes": (b"\x81\x7f", 1002),
    "a cut ping": (masked(Opcode.PING, fin=False), 1002),
    "a long ping": (masked(Opcode.PING, b"a" * 126), 1002),
    "a continuation of nothing": (masked(Opcode.CONT, b"a"), 1002),
    "a message in a message": (HALF + masked(Opcode.TEXT, b"a"), 1002),
    "half a character": (masked(Opcode.TEXT, "é".encode()[:1]), 1007),
    "half a character over two frames": (HALF + masked(Opcode.CONT, b"\xff"), 1007),
    "a surrogate": (masked(Opcode.TEXT, b"\xed\xa0\x80"), 1007),
    "more than a message may have": (struct.pack("!BBQ", 0x82, 0xFF, MOST + 1), 1009),
    "a length without end": (HUGE, 1009),
    "fragments without end": (HALF + masked(Opcode.CONT, b"a" * MOST), 1009),
}
