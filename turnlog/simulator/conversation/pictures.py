"""The format and size of an image from its first bytes. Bytes that lie give None, never a crash."""

import base64
import binascii
import struct
from collections.abc import Callable
from typing import NamedTuple

from ..script import Json


class Picture(NamedTuple):
    format: str
    width: int
    height: int


def described(block: Json) -> str:
    """A sentence about an image block: what its bytes say, and nothing about what it shows."""
    source = block.get("source") or {}
    if source.get("type") != "base64":
        return f"an image by {source.get('type', 'reference')}, whose bytes I was not given"
    try:
        raw = base64.b64decode(source.get("data") or "", validate=False)
    except (binascii.Error, ValueError):
        return "an image whose data is not valid base64"
    picture = measured(raw)
    size = f"{len(raw) / 1000:,.1f} kB" if len(raw) >= 1000 else f"{len(raw)} bytes"
    if picture is None:
        kind = source.get("media_type")
        return f"a file of {size} that says it is {kind}, with no header that I can read"
    return f"a {picture.format} image of {picture.width} × {picture.height} pixels ({size})"


def measured(raw: bytes) -> Picture | None:
    for magic, read in READERS:
        if raw.startswith(magic):
            try:
                return read(raw)
            except (struct.error, IndexError):  # cut short
                return None
    return None


def _png(raw: bytes) -> Picture | None:
    width, height = struct.unpack(">II", raw[16:24])
    return Picture("PNG", width, height) if raw[12:16] == b"IHDR" else None


def _gif(raw: bytes) -> Picture:
    return Picture("GIF", *struct.unpack("<HH", raw[6:10]))


# Start-of-frame markers; 0xC4, 0xC8 and 0xCC lie between them and are none.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def _jpeg(raw: bytes) -> Picture | None:
    at = 2
    while at + 4 <= len(raw) and raw[at] == 0xFF:
        marker = raw[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return Picture("JPEG", width, height)
        at += 2 + max(2, struct.unpack(">H", raw[at + 2 : at + 4])[0])
    return None


def _webp(raw: bytes) -> Picture | None:
    if raw[8:12] != b"WEBP":
        return None
    match raw[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", raw[26:30])
            return Picture("WebP", width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            (bits,) = struct.unpack("<I", raw[21:25])
            return Picture("WebP", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            width = int.from_bytes(raw[24:27], "little") + 1
            height = int.from_bytes(raw[27:30], "little") + 1
            return Picture("WebP", width, height) if len(raw) >= 30 else None
    return None


READERS: list[tuple[bytes, Callable[[bytes], Picture | None]]] = [
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF87a", _gif),
    (b"GIF89a", _gif),
    (b"\xff\xd8", _jpeg),
    (b"RIFF", _webp),
]
