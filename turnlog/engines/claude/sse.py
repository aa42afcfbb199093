"""Server-sent events: bytes that are cut anywhere become JSON objects. Linear and bounded."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from turnlog.engines.claude.bounds import MOST_FRAME
from turnlog.engines.claude.errors import TOO_MUCH, failed

Raw = dict[str, Any]
_decoder = msgspec.json.Decoder()
_PIECE = b"event: content_block_delta\ndata: "
# A pair of surrogates, one that has lost the other, and any other escape, which is passed over.
_HALVES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


class SseSplitter:
    """Bytes, cut anywhere, to the JSON objects of a server-sent event stream."""

    def __init__(self) -> None:
        self._tail = bytearray()  # of an event that is not whole
        self._carriage_return = False  # the piece before ended between the two of a line end

    def feed(self, piece: bytes) -> Iterable[Raw]:
        """The events that this piece completes, decoded as they are taken.

        Raises EngineFailed for one that is too long.
        """
        if self._carriage_return or b"\r" in piece:
            piece = self._with_plain_ends(piece)
        if self._tail:
            # A blank line may begin with the last byte that was there: all before is read once.
            begin = len(self._tail) - 1
            self._tail += piece
            if self._tail.find(b"\n\n", begin) < 0:
                self._refuse_too_long()
                return ()
            piece = bytes(self._tail)
        *frames, rest = piece.split(b"\n\n")
        self._tail = bytearray(rest)
        self._refuse_too_long()
        return (decode(data) for data in map(_data_of, frames) if data)

    def close(self) -> list[Raw]:
        """What was left without a blank line after it, when it is whole."""
        data = _data_of(bytes(self._tail))
        try:
            return [decode(data)] if data else []
        except (RecursionError, ValueError):
            return []

    def _with_plain_ends(self, piece: bytes) -> bytes:
        piece = b"\r" + piece if self._carriage_return else piece
        self._carriage_return = piece.endswith(b"\r")
        return piece.removesuffix(b"\r").replace(b"\r\n", b"\n")

    def _refuse_too_long(self) -> None:
        if len(self._tail) > MOST_FRAME:
            raise failed(TOO_MUCH)


def decode(data: bytes | str) -> Any:
    """The JSON. Half a character costs a replacement character, not the answer.

    Raises ValueError for what is no JSON.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        text = data.encode(errors="replace") if isinstance(data, str) else data
        whole = text.decode(errors="replace").encode()
        return _decoder.decode(_HALVES.sub(_whole, whole))


def _whole(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]


def _data_of(frame: bytes) -> bytes:
    if frame.startswith(_PIECE) and b"\n" not in (data := frame[len(_PIECE) :].strip()):
        return data  # as most are
    # Only at the start of a line: a comment may hold the word too.
    start = 0 if frame.startswith(b"data:") else frame.find(b"\ndata:") + 1
    if not frame.startswith(b"data:", start) or frame.startswith(b"event: ping"):
        return b""
    data = frame[start + 5 :].strip()
    if b"\n" in data:  # several lines: the format allows it, Claude does not do it
        lines = frame[start:].split(b"\n")
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    return b"" if data == b"[DONE]" else data
