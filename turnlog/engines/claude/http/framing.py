"""Where a body ends, and which of its bytes are content. No I/O.

A body is fed as it comes, cut anywhere. RFC 9112 is kept strictly: what is not understood breaks
the body. A body that is broken or cut never counts as whole.
"""

import re
from typing import Protocol

MOST_LINE = 4_096  # bytes of a line behind the last chunk, and of one that is not whole
MOST_TRAILERS = 16_384  # bytes of all lines behind the last chunk; nobody reads them
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]{0,9}(?:;[^\r\n\0]{0,4000})?\r\n")
_CHUNK = b"%x\r\n%b\r\n"  # with its size, as most servers write it
_LAST = b"0\r\n\r\n"
_TRAILER_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n")


class Broken(Exception):
    """What came is no HTTP, or it ended too early."""


class Framing(Protocol):
    """What the head of a response says about its body."""

    is_over: bool  # the body is whole
    has_more: bool  # something came behind its end
    error: Exception | None  # why it will never be whole

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the connection; those of them that are content."""
        ...

    def close(self, why: Exception | None) -> None:
        """The connection has ended. `why`: what broke it."""
        ...


class Sized:
    """So many bytes, as the head says."""

    def __init__(self, size: int) -> None:
        self.is_over = size == 0
        self.has_more = False
        self.error: Exception | None = None
        self._left = size

    def feed(self, data: bytes) -> bytes:
        content = data[: self._left]
        self._left -= len(content)
        self.is_over = self._left == 0
        self.has_more = self.has_more or len(data) > len(content)
        return content

    def close(self, why: Exception | None) -> None:
        if not self.is_over and self.error is None:
            self.error = why or Broken(f"The connection ended {self._left} bytes before the body.")


class UntilClosed:
    """All that comes."""

    def __init__(self) -> None:
        self.is_over = self.has_more = False
        self.error: Exception | None = None

    def feed(self, data: bytes) -> bytes:
        return data

    def close(self, why: Exception | None) -> None:
        self.error = self.error or why
        self.is_over = self.error is None


# What comes next of a body in chunks.
_SIZE = "the size of a chunk"
_CONTENT = "the content of a chunk"
_END_OF_CHUNK = "the end of a chunk"
_TRAILER = "a line behind the last chunk"


class Chunked:
    """Chunks with their sizes before them, until one of size 0."""

    def __init__(self) -> None:
        self.is_over = self.has_more = False
        self.error: Exception | None = None
        self._next = _SIZE
        self._left = 0  # bytes of the chunk that are still to come
        self._rest = b""  # of a line that is not whole
        self._trailers = 0  # bytes of them

    def feed(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        pieces: list[bytes] = []
        at, size, may_be_plain = 0, len(data), True
        while at < size and self.error is None and not self.is_over:
            if self._next == _CONTENT:
                at = self._read_content(data, at, pieces)
            elif self._next == _SIZE and may_be_plain:
                may_be_plain = False
                at = self._read_plain_chunks(data, at, pieces)
            else:
                at = self._read_line(data, at)
        self.has_more = self.has_more or (self.is_over and at < size)
        return b"".join(pieces)

    def close(self, why: Exception | None) -> None:
        if not self.is_over and self.error is None:
            self.error = why or Broken(f"The connection ended before {self._next}.")

    def _read_content(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Read what there is of a chunk's content. Where it ends."""
        end = at + self._left
        piece = data[at:end]
        pieces.append(piece)
        self._left -= len(piece)
        if self._left:
            return at + len(piece)
        is_whole = data[end : end + 2] == b"\r\n"
        self._next = _SIZE if is_whole else _END_OF_CHUNK
        return end + 2 if is_whole else end

    def _read_plain_chunks(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Read whole chunks at once: there may be hundreds. Where they end.

        Every other line is taken for a content. If they make what came when they are written as
        chunks, they are the contents; if not, the chunks are read one by one.
        """
        contents = data[at:].split(b"\r\n")[1:-1:2]
        if b"" in contents:
            del contents[contents.index(b"") :]  # the last chunk
        written = b"".join([_CHUNK % (len(each), each) for each in contents])
        if not data.startswith(written, at):
            return _read_one_by_one(data, at, pieces)
        pieces += contents
        at += len(written)
        self.is_over = data[at:] == _LAST
        return len(data) if self.is_over else at

    def _begin_chunk(self, size: int) -> None:
        self._left = size
        self._next = _CONTENT if size else _TRAILER

    def _read_line(self, data: bytes, at: int) -> int:
        """Read what lies between two contents. Where it ends; it is kept if it is not whole."""
        end = at + 2 if self._next == _END_OF_CHUNK else data.find(b"\n", at) + 1
        is_whole = at < end <= len(data)
        line = data[at:end] if is_whole else data[at:]
        if not (self._takes(line) if is_whole else self._may_become_whole(line)):
            self.error = Broken(f"What came is not {self._next}.")  # it may be content: untold
        elif not is_whole:
            self._rest = line
        return at + len(line)

    def _may_become_whole(self, line: bytes) -> bool:
        return line == b"\r" if self._next == _END_OF_CHUNK else len(line) < MOST_LINE

    def _takes(self, line: bytes) -> bool:
        if self._next == _END_OF_CHUNK:
            self._next = _SIZE if line == b"\r\n" else self._next
            return line == b"\r\n"
        if self._next == _TRAILER:
            return self._takes_trailer(line)
        size = _SIZE_LINE.fullmatch(line)
        if size is None:
            return False
        self._begin_chunk(int(size[1], 16))
        return True

    def _takes_trailer(self, line: bytes) -> bool:
        if line == b"\r\n":
            self.is_over = True
            return True
        self._trailers += len(line)
        is_short = len(line) <= MOST_LINE and self._trailers <= MOST_TRAILERS
        return is_short and _TRAILER_LINE.fullmatch(line) is not None


def _read_one_by_one(data: bytes, at: int, pieces: list[bytes]) -> int:
    """Read whole chunks. Where they end."""
    while (line := _SIZE_LINE.match(data, at)) and (size := int(line[1], 16)):
        begin = line.end()
        end = begin + size
        if data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[begin:end])
        at = end + 2
    return at
