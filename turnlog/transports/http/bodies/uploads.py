"""A multipart body, read while it comes: the part `file`, and nothing else of it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from turnlog.errors import BadInput

SLOWEST_CHUNK = 30.0  # seconds between two chunks of a body
SLOWEST_BODY = 900.0
MOST_DRAINED = 100_000_000
MOST_BESIDE = 65_536  # bytes of other parts
MOST_PARTS = 100
NO_FILE = "The body must be multipart/form-data with a part named 'file'."
TWO_FILES = "The body has two parts named 'file'. Send one file at a time."
TOO_MUCH = "There is more beside the file than the server reads."
CUT = "The body did not arrive as a whole."


class Form:
    """The body of an upload. `begin` reads up to the file's first bytes, `chunks` the file."""

    def __init__(self, request: Request) -> None:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 0 < len(boundary) <= 200:
            raise BadInput(NO_FILE)
        self.name = ""
        self._stream = request.stream().__aiter__()
        self._ready: deque[bytes] = deque()
        self._header = (bytearray(), bytearray())
        self._is_file = self._found = self._over = self._ended = False
        self._beside = self._parts = 0
        self._deadline = asyncio.get_running_loop().time() + SLOWEST_BODY
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_part_data": self._data,
                "on_part_end": self._end_part,
                "on_header_field": lambda data, start, end: self._head(0, data[start:end]),
                "on_header_value": lambda data, start, end: self._head(1, data[start:end]),
                "on_header_end": self._end_header,
                "on_end": self._end,
            },
        )

    async def begin(self) -> str:
        """The name of the file, as the client gives it. Raises BadInput where there is none."""
        while not self._found:
            if not await self._more():
                raise BadInput(NO_FILE if self._ended else CUT)
        return self.name

    async def chunks(self) -> AsyncIterator[bytes]:
        """The file. What follows it is read and dropped, so that the client sees the answer."""
        while not self._over or self._ready:
            while self._ready:
                yield self._ready.popleft()
            if not self._over and not await self._more():
                raise BadInput(CUT)
        while await self._more():
            pass
        if not self._ended:
            raise BadInput(CUT)

    async def drain(self) -> None:
        """Read what is left of a body that is refused, and drop it; within bounds."""
        left = MOST_DRAINED
        with suppress(BadInput, ClientDisconnect, TimeoutError, StopAsyncIteration):
            async with asyncio.timeout(SLOWEST_CHUNK):
                while left > 0:
                    left -= len(await anext(self._stream))

    async def _more(self) -> bool:
        """Parse the next chunk of the body; whether there was one."""
        try:
            async with asyncio.timeout(SLOWEST_CHUNK):
                chunk = await anext(self._stream, b"")
                while chunk == b"" and not self._ended:  # the last one of a body may be empty
                    chunk = await anext(self._stream)
        except StopAsyncIteration:
            return False
        except (ClientDisconnect, TimeoutError):
            raise BadInput(CUT) from None
        if asyncio.get_running_loop().time() > self._deadline:
            raise BadInput("The body takes too long to arrive.")
        if not chunk:
            return False
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise BadInput(NO_FILE) from None
        return True

    # what the parser tells

    def _begin_part(self) -> None:
        self._is_file = False
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadInput(TOO_MUCH)

    def _head(self, which: int, piece: bytes) -> None:
        self._header[which].extend(piece)

    def _end_header(self) -> None:
        field, value = (bytes(part) for part in self._header)
        self._header = (bytearray(), bytearray())
        if field.lower() == b"content-disposition":
            _, options = parse_options_header(value)
            if options.get(b"name") == b"file":
                if self._found:  # the second would be lost
                    raise BadInput(TWO_FILES)
                self.name = options.get(b"filename", b"").decode("utf-8", "replace")
                self._is_file = self._found = True

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._ready.append(data[start:end])
            return
        self._beside += end - start
        if self._beside > MOST_BESIDE:
            raise BadInput(TOO_MUCH)

    def _end_part(self) -> None:
        self._over = self._over or self._is_file

    def _end(self) -> None:
        self._ended = True
