"""AWS's event stream: bytes that are cut anywhere become the same JSON objects. Bounded.

A frame is: its length and that of its headers (4 bytes each), a checksum of these; the headers; a
payload; a checksum of all. https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from turnlog.engines.claude.bounds import MOST_FRAME
from turnlog.engines.claude.errors import TOO_MUCH, UNREADABLE, failed
from turnlog.engines.claude.sse import decode

Raw = dict[str, Any]
_PRELUDE, _CHECKSUM = 12, 4
_STRING = 7  # the type of a header that is text
# What Bedrock calls a failure, and the Messages API.
FAILURES = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "serviceUnavailableException": "overloaded_error",
    "modelTimeoutException": "timeout_error",
}


class EventStreamSplitter:
    """Bytes, cut anywhere, to the JSON objects in the frames."""

    def __init__(self) -> None:
        self._tail = bytearray()

    def feed(self, piece: bytes) -> Iterable[Raw]:
        """The events that this piece completes. Raises EngineFailed for a frame that is broken."""
        self._tail += piece
        return list(self._frames())

    def close(self) -> list[Raw]:
        """A frame is whole or it is none."""
        return []

    def _frames(self) -> Iterator[Raw]:
        while len(self._tail) >= _PRELUDE:
            length, headers, checksum = struct.unpack(">III", self._tail[:_PRELUDE])
            if zlib.crc32(self._tail[:8]) != checksum:
                raise failed(UNREADABLE)
            if length > MOST_FRAME:
                raise failed(TOO_MUCH)
            if length < _PRELUDE + headers + _CHECKSUM:
                raise failed(UNREADABLE)
            if len(self._tail) < length:
                return
            frame, self._tail = bytes(self._tail[:length]), self._tail[length:]
            (checksum,) = struct.unpack(">I", frame[-_CHECKSUM:])
            if zlib.crc32(frame[:-_CHECKSUM]) != checksum:
                raise failed(UNREADABLE)
            end = _PRELUDE + headers
            event = _event(_headers(frame[_PRELUDE:end]), frame[end:-_CHECKSUM])
            if event is not None:
                yield event


def _event(headers: dict[str, str], payload: bytes) -> Raw | None:
    try:
        body = msgspec.json.decode(payload) if payload else {}
        if headers.get(":message-type") == "event":
            data = body.get("bytes")
            return decode(base64.b64decode(data)) if data else None
    except (AttributeError, RecursionError, ValueError) as error:
        raise failed(UNREADABLE) from error
    kind = headers.get(":exception-type") or headers.get(":error-code") or ""
    message = body.get("message") if isinstance(body, dict) else ""
    failure = {"type": FAILURES.get(kind, "api_error"), "message": str(message or kind)}
    return {"type": "error", "error": failure}


def _headers(data: bytes) -> dict[str, str]:
    """Those that are text: the others say nothing to us, and nothing comes after them."""
    found, at = {}, 0
    while at < len(data):
        name_ends = at + 1 + data[at]
        if data[name_ends : name_ends + 1] != bytes([_STRING]):
            break
        (length,) = struct.unpack(">H", data[name_ends + 1 : name_ends + 3])
        value = data[name_ends + 3 : name_ends + 3 + length]
        found[data[at + 1 : name_ends].decode(errors="replace")] = value.decode(errors="replace")
        at = name_ends + 3 + length
    return found
