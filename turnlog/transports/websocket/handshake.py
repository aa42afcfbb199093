"""The head of a request that wants a websocket, and the answers to it (RFC 6455, 4.2)."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable
from hashlib import sha1
from http import HTTPStatus
from urllib.parse import unquote

from starlette.types import Scope

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
Headers = Iterable[tuple[bytes, bytes]]


class Refused(Exception):
    """No websocket for this request. `status` and `headers`: the answer."""

    def __init__(self, status: int, why: str, headers: Headers = ()) -> None:
        super().__init__(why)
        self.status = status
        self.headers = headers


def read(head: bytes) -> Scope:
    """What the request says, for an ASGI scope. `head` is well-formed: uvicorn has parsed it."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    target = first.split(b" ")[1]
    raw_path, _, query = target.partition(b"?")
    headers = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
    return {
        "type": "websocket",
        "http_version": "1.1",
        "path": unquote(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers,
    }


def key_of(scope: Scope, method: bytes) -> bytes:
    """The client's key. Raises Refused for what is no handshake of version 13."""
    headers = dict(scope["headers"])
    if method != b"GET":
        raise Refused(405, "Ask for a websocket with GET.", [(b"allow", b"GET")])
    if headers.get(b"sec-websocket-version") != b"13":
        version = [(b"sec-websocket-version", b"13")]
        raise Refused(426, "This server speaks version 13 of the WebSocket protocol.", version)
    key: bytes = headers.get(b"sec-websocket-key", b"")
    try:
        fits = len(b64decode(key, validate=True)) == 16
    except Error:
        fits = False
    if not fits:
        raise Refused(400, "The Sec-WebSocket-Key is not 16 bytes in base64.")
    return key


def accepted(key: bytes) -> bytes:
    """The answer that opens the socket. Nothing that the client offers is taken: no extension,
    so nothing is compressed, and no protocol."""
    proof = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
    fields = [
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", proof),
    ]
    return answer_head(101, fields)


def refused(status: int, headers: Headers, body: bytes) -> bytes:
    """An answer that opens no socket. Nothing more comes on this connection."""
    fields = [(name, value) for name, value in headers if name.lower() not in SET_HERE]
    length = (b"content-length", str(len(body)).encode())
    return answer_head(status, [*fields, length, (b"connection", b"close")]) + body


SET_HERE = (b"content-length", b"connection", b"transfer-encoding")


def answer_head(status: int, headers: Headers) -> bytes:
    phrase = HTTPStatus(status).phrase
    lines = b"".join(b"%s: %s\r\n" % field for field in headers)
    return f"HTTP/1.1 {status} {phrase}\r\n".encode() + lines + b"\r\n"
