"""The format and size of an image from its first bytes. Bytes that lie give None, never a crash."""

import base64
import binascii
import struct
from collections.abc import Iterable

from ..script import Json

JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # the markers that have the size


def described(blocks: Iterable[Json]) -> str:
    images = " and ".join(_described(block.get("source") or {}) for block in blocks)
    return f"You sent {images}. I am a simulation: I read its header, I cannot see what it shows."


def _described(source: Json) -> str:
    try:
        raw = base64.b64decode(source["data"])
    except (KeyError, binascii.Error, ValueError):
        return "an image whose bytes I was not given"
    size = f"{len(raw) / 1000:,.1f} kB" if len(raw) >= 1000 else f"{len(raw)} bytes"
    picture = measured(raw)
    if picture is None:
        return f"a file of {size} without a header that I can read"
    return "a {} image of {} × {} pixels ({})".format(*picture, size)


def measured(raw: bytes) -> tuple[str, int, int] | None:
    """Format, width and height."""
    try:
        if raw.startswith(b"\x89PNG") and raw[12:16] == b"IHDR":
            return "PNG", *struct.unpack(">II", raw[16:24])
        if raw.startswith(b"GIF8"):
            return "GIF", *struct.unpack("<HH", raw[6:10])
        if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP":
            return _webp(raw)
        return _jpeg(raw) if raw.startswith(b"\xff\xd8") else None
    except struct.error:  # cut short
        return None


def _webp(raw: bytes) -> tuple[str, int, int] | None:
    match raw[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", raw[26:30])
            return "WebP", width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", raw[21:25])
            return "WebP", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            low, w, high, h = struct.unpack("<HBHB", raw[24:30])
            return "WebP", (low | w << 16) + 1, (high | h << 16) + 1
    return None


def _jpeg(raw: bytes) -> tuple[str, int, int] | None:
    at = 2
    while raw[at : at + 1] == b"\xff":
        marker, length = struct.unpack(">BH", raw[at + 1 : at + 4])
        if marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return "JPEG", width, height
        at += 1 if marker == 0xFF else 2 + max(2, length)  # 0xFF alone only fills
    return None
