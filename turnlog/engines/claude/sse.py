"""Server-sent events: bytes that are cut anywhere become JSON objects. Linear and bounded."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from turnlog.engines.claude.bounds import MOST_FRAME
from turnlog.engines.claude.errors import TOO_MUCH, failed

Raw = dict[str, Any]
FEW = 1_000  # bytes: to join the pieces in so few costs more than to take them one by one
_decoder = msgspec.json.Decoder()
_PIECE = b"event: content_block_delta\ndata: "
# Pieces on end, from the beginning of a frame. It begins with a word, which is found quickly.
_RUN = re.compile(rb"%b(?:(?<=\n\n%b)|(?<=\A%b))[^\n]+\n\n(?:%b[^\n]+\n\n)+" % ((_PIECE,) * 4))
# A pair of surrogates, one that has lost the other, and any other escape, which is passed over.
_HALVES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text_delta"]
    text: str


class _Delta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece of text, with nothing beside it that would have to be kept."""

    type: Literal["content_block_delta"]
    index: int
    delta: _Text


_delta = msgspec.json.Decoder(_Delta)


class SseSplitter:
    """Bytes, cut anywhere, to the JSON objects of a server-sent event stream."""

    def __init__(self, *, joins: bool = False) -> None:
        """`joins`: adjacent pieces of one text come as one. Most of an answer is such pieces."""
        self._joins = joins
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
        end = piece.rfind(b"\n\n") + 2 if b"\n\n" in piece else 0
        self._tail = bytearray(piece[end:])
        self._refuse_too_long()
        frames = piece[:end]
        return _joined(frames) if self._joins and end > FEW else _events(frames)

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


def _events(frames: bytes) -> Iterator[Raw]:
    return (decode(data) for data in map(_data_of, frames.split(b"\n\n")) if data)


def _joined(frames: bytes) -> Iterator[Raw]:
    """The same, with what runs of text pieces say together."""
    at = 0
    for run in _RUN.finditer(frames):
        yield from _events(frames[at : run.start()])
        text = _text(run[0])
        yield from _events(run[0]) if text is None else (text,)
        at = run.end()
    yield from _events(frames[at:])


def _text(run: bytes) -> Raw | None:
    """The pieces as one. None: there is more to them than text, or they are of several blocks."""
    lines = run[len(_PIECE) : -2].split(b"\n\n" + _PIECE)
    try:
        pieces = [_delta.decode(line) for line in lines]
    except (msgspec.DecodeError, UnicodeError):
        return None
    index = pieces[0].index
    if any(piece.index != index for piece in pieces):
        return None
    delta = {"type": "text_delta", "text": "".join([piece.delta.text for piece in pieces])}
    return {"type": "content_block_delta", "index": index, "delta": delta}


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
