"""The head of a response, which is read strictly, and lines of the head of a request."""

import re
from collections.abc import Mapping

import msgspec

from turnlog.engines.claude.http.framing import Broken, Chunked, Framing, Sized, UntilClosed

NO_HEAD = "What came is not the head of a response."
MOST_HEAD = 32_768  # bytes of all heads that come before a body
_HEAD = re.compile(
    rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\x00-\x08\n-\x1f\x7f]*)?\r\n"
    rb"((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\n-\x1f\x7f]*\r\n)*)\r\n"
)
_USED = re.compile(  # all that anybody asks for
    rb"^(connection|content-encoding|content-length|retry-after|retry-after-ms|transfer-encoding"
    rb"|x-should-retry):([^\r]*)\r",
    re.MULTILINE,
)
_BEGINNING = b"HTTP/1."
_BARE_LINE_END = re.compile(rb"(?<!\r)\n")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[^\x00-\x08\n-\x1f\x7f]*")
_WITHOUT_BODY = (204, 304)
_UNPACKED = (b"", b"identity")
OURS = ("connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade")


class Head(msgspec.Struct, frozen=True):
    """What a response says before its body."""

    status: int
    is_packed: bool
    values: Mapping[bytes, bytes]  # of headers that somebody asks for
    framing: Framing
    stays_open: bool  # the connection, for the next request

    def header(self, name: str) -> str | None:
        value = self.values.get(name.encode())
        return None if value is None else value.decode("latin-1")


class Heads:
    """What comes before a body, fed as it comes, cut anywhere. Each byte is looked at once."""

    def __init__(self) -> None:
        self.rest = b""  # of a head that is not whole; or what came behind the head
        self._passed = 0  # bytes of heads that only announced another one

    def feed(self, data: bytes) -> Head | None:
        """The next bytes of the connection. The head, once it is whole. Raises Broken."""
        seen = len(self.rest)
        data = self.rest + data
        begin, look_from = 0, seen - 3 if seen > 3 else 0  # an end may have begun
        while (end := data.find(b"\r\n\r\n", look_from) + 4) >= 4:
            parts = _HEAD.fullmatch(data, begin, end)
            if parts is None or self._passed + end > MOST_HEAD:
                raise Broken(NO_HEAD)
            minor, status, lines = parts.groups()
            if status[:1] != b"1":
                self.rest = data[end:]
                return _head(int(status), minor == b"1", lines)
            if status == b"101":
                raise Broken("The server speaks another protocol.")
            begin = look_from = end
        self._passed += begin
        self.rest = data[begin:]
        if self._passed + len(self.rest) > MOST_HEAD or not _may_become_whole(
            self.rest, max(seen - begin, 0)
        ):
            raise Broken(NO_HEAD)
        return None


def _may_become_whole(head: bytes, seen: int) -> bool:
    begins = head[: len(_BEGINNING)] == _BEGINNING[: len(head)]
    return begins and _BARE_LINE_END.search(head, seen) is None


def _head(status: int, is_new: bool, lines: bytes) -> Head:
    values: dict[bytes, bytes] = {}
    for name, value in _USED.findall(lines.lower()):  # no value of these has a case
        values[name] = values[name] + b"," + value if name in values else value.strip()
    framing = _framing(status, is_new, values)
    closes = b"close" in values.get(b"connection", b"") or not is_new
    return Head(
        status,
        values.get(b"content-encoding", b"") not in _UNPACKED,
        values,
        framing,
        not closes and type(framing) is not UntilClosed,
    )


def _framing(status: int, is_new: bool, values: Mapping[bytes, bytes]) -> Framing:
    """RFC 9112, 6.3; but where a sender contradicts itself it is not believed at all."""
    if status in _WITHOUT_BODY:  # whatever else it says
        return Sized(0)
    coding, length = values.get(b"transfer-encoding"), values.get(b"content-length")
    if coding is not None:
        if coding != b"chunked" or length is not None or not is_new:
            raise Broken(f"{coding[:40]!r} is no coding that is understood here.")
        return Chunked()
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise Broken(f"{length[:40]!r} is no length.")
    return UntilClosed() if length is None else Sized(int(length))


def fields(headers: Mapping[str, str]) -> bytes:
    """The lines of a request's head. Raises ValueError for what would be another line."""
    lines = b""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"The header {name!r} has a character that no header may have.")
        lines += f"{name}: {value}\r\n".encode()
    return lines
