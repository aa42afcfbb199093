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
_BEFORE, _BETWEEN = len(_PIECE), b"\n\n" + _PIECE
_APART = b"}\n{"  # stands in no JSON but between two values
# Pieces on end, from the beginning of a frame. It begins with a word, which is found quickly.
_RUN = re.compile(rb"%b(?:(?<=\n\n%b)|(?<=\A%b))[^\n]+\n\n(?:%b[^\n]+\n\n)+" % ((_PIECE,) * 4))
# A frame as Claude writes them, with its JSON; a ping says nothing. Also only where one begins: the
# word may stand in a line any number of times, and each would be followed to the end of the line.
_FRAME = re.compile(
    rb"event: (?:(?<=\n\nevent: )|(?<=\Aevent: ))"
    rb"(?:ping[^\n]*\ndata: [^\n]*|[^\n]+\ndata: (\{[^\n]+))\n\n"
)
# A pair of surrogates, one that has lost the other, and any other escape, which is passed over.
_HALVES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


class _Piece(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """With nothing beside it that would have to be kept."""


class _Text(_Piece, tag="text_delta"):
    piece: str = msgspec.field(name="text")


class _Thought(_Piece, tag="thinking_delta"):
    piece: str = msgspec.field(name="thinking")


class _Arguments(_Piece, tag="input_json_delta"):
    piece: str = msgspec.field(name="partial_json")


class _Delta(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["content_block_delta"]
    index: int
    delta: _Text | _Thought | _Arguments


_delta = msgspec.json.Decoder(_Delta)
_NAMES = {  # of each kind of delta its type, and the field that has the piece
    kind: (kind.__struct_config__.tag, kind.__struct_encode_fields__[0])
    for kind in (_Text, _Thought, _Arguments)
}


class SseSplitter:
    """Bytes, cut anywhere, to the JSON objects of a server-sent event stream."""

    def __init__(self, *, joins: bool = False) -> None:
        """`joins`: adjacent pieces of one block come as one. Most of an answer is such pieces."""
        self._joins = joins
        self._tail = bytearray()  # of an event that is not whole
        self._carriage_return = False  # the piece before ended between the two of a line end

    def feed(self, piece: bytes) -> Iterable[Raw]:
        """The events that this piece completes. What breaks one is raised when it is taken.

        Raises EngineFailed for one that is too long.
        """
        if self._carriage_return or b"\r" in piece:
            piece = self._with_plain_ends(piece)
        frames = self._whole(piece) if self._tail or not piece.endswith(b"\n\n") else piece
        if not self._joins:
            return _events(frames)
        if frames.startswith(_PIECE) and (one := _one(frames)) is not None:
            return (one,)
        return _joined(frames) if len(frames) > FEW else _events(frames)

    def close(self) -> list[Raw]:
        """What was left without a blank line after it, when it is whole."""
        data = _data_of(bytes(self._tail))
        try:
            return [decode(data)] if data else []
        except (RecursionError, ValueError):
            return []

    def _whole(self, piece: bytes) -> bytes:
        """The frames that are whole now. The rest is the tail."""
        if self._tail:
            # A blank line may begin with the last byte that was there: all before is read once.
            begin = len(self._tail) - 1
            self._tail += piece
            if self._tail.find(b"\n\n", begin) < 0:
                self._refuse_too_long()
                return b""
            piece = bytes(self._tail)
        end = piece.rfind(b"\n\n") + 2 if b"\n\n" in piece else 0
        self._tail = bytearray(piece[end:])
        self._refuse_too_long()
        return piece[:end]

    def _with_plain_ends(self, piece: bytes) -> bytes:
        piece = b"\r" + piece if self._carriage_return else piece
        self._carriage_return = piece.endswith(b"\r")
        return piece.removesuffix(b"\r").replace(b"\r\n", b"\n")

    def _refuse_too_long(self) -> None:
        if len(self._tail) > MOST_FRAME:
            raise failed(TOO_MUCH)


def _events(frames: bytes) -> Iterable[Raw]:
    """All in one go. If one of them is unusual or broken, each is decoded when it is taken."""
    found = _FRAME.findall(frames)
    if frames.count(b"\n") != 3 * len(found):
        return map(decode, filter(None, map(_data_of, frames.split(b"\n\n"))))
    lines = list(filter(None, found))
    joined = b"\n".join(lines)
    try:
        events = _decoder.decode_lines(joined)
    except (RecursionError, ValueError):
        return map(decode, lines)
    # A line may have two values, and a value two lines: what is taken is one value a line.
    is_usual = len(events) == len(lines) and joined.count(_APART) == len(lines) - 1
    return events if is_usual else map(decode, lines)


def _joined(frames: bytes) -> Iterator[Raw]:
    """The same, with what runs of pieces say together."""
    at = 0
    for run in _RUN.finditer(frames):
        yield from _events(frames[at : run.start()])
        one = _one(run[0])
        yield from _events(run[0]) if one is None else (one,)
        at = run.end()
    yield from _events(frames[at:])


def _one(run: bytes) -> Raw | None:
    """The pieces as one. None: there is more to them, or they are of several blocks or kinds."""
    lines = run[_BEFORE:-2].split(_BETWEEN)
    if run.count(b"\n") != 3 * len(lines):  # there is something else, or a piece has more lines
        return None
    try:
        first, *others = map(_delta.decode, lines)
    except (msgspec.DecodeError, UnicodeError):
        return None
    index, kind, text = first.index, type(first.delta), first.delta.piece
    for piece in others:
        if piece.index != index or type(piece.delta) is not kind:
            return None
        text += piece.delta.piece
    name, field = _NAMES[kind]
    return {"type": "content_block_delta", "index": index, "delta": {"type": name, field: text}}


def decode(data: bytes | str, decoder: msgspec.json.Decoder[Any] = _decoder) -> Any:
    """The JSON. Half a character costs a replacement character, not the answer.

    Raises ValueError for what is no JSON.
    """
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        text = data.encode(errors="replace") if isinstance(data, str) else data
        whole = text.decode(errors="replace").encode()
        return decoder.decode(_HALVES.sub(_whole, whole))


def _whole(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape[1] else escape[0]


def _data_of(frame: bytes) -> bytes:
    # Only at the start of a line: a comment may hold the word too.
    start = 0 if frame.startswith(b"data:") else frame.find(b"\ndata:") + 1
    if not frame.startswith(b"data:", start) or frame.startswith(b"event: ping"):
        return b""
    data = frame[start + 5 :].strip()
    if b"\n" in data:  # several lines: the format allows it, Claude does not do it
        lines = frame[start:].split(b"\n")
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    return b"" if data == b"[DONE]" else data
