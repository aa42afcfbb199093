"""The packets of Socket.IO 5, inside of the messages of Engine.IO 4. Texts only, namespace `/`.

Whatever a client attaches (bytes) is not read: an event that says that something is attached is
taken as it is, and its payload then does not fit.
"""

import re
from typing import Any

import msgspec

from turnlog.errors import BadInput
from turnlog.transports.websocket.frames import Parcel

# Engine.IO: the first character of everything
OPEN, CLOSE, PING, PONG, MESSAGE, UPGRADE, NOOP = "0", "1", "2", "3", "4", "5", "6"
# Socket.IO: the first character of a message
CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR, BINARY_EVENT = "0", "1", "2", "3", "4", "5"

_PACKET = re.compile(
    r"(?P<kind>[0-6])"
    r"(?:\d{1,3}-)?"  # how many attachments follow
    r"(?:(?P<namespace>/[^,]{0,200}),?)?"
    r"(?P<number>\d{0,20})"  # that the answer has to have
    r"(?P<body>.*)",
    re.DOTALL,
)
AGENT_EVENT = b'42["agent:event",%s]'  # put together around what is JSON already
PROBE = "2probe"  # a ping of Engine.IO, over a websocket that is tried out
PINGED, CLOSED, DONE = Parcel(b"2"), Parcel(b"1"), Parcel(b"6")
PROBED, DISCONNECTED = Parcel(b"3probe"), Parcel(b"41")

# Of one, or of a body of several: a question of 200,000 characters, each escaped by a client as
# two surrogates, and what stands around it.
MOST_BYTES = 2_500_000


class NoPacket(Exception):
    """The client does not speak the protocol."""


class Packet(msgspec.Struct, frozen=True):
    kind: str
    namespace: str
    number: str  # empty: no answer is wanted
    body: str

    def items(self) -> list[msgspec.Raw]:
        """Of an event: its name and what comes with it, each as JSON. Raises BadInput."""
        items: list[msgspec.Raw] = _decoded(self.body, list[msgspec.Raw])
        return items

    def auth(self) -> dict[str, Any]:
        """Of a CONNECT. Raises BadInput."""
        said: Any = _decoded(self.body or "{}", Any)
        return said if isinstance(said, dict) else {}


def read(text: str) -> Packet:
    """Raises NoPacket."""
    found = _PACKET.fullmatch(text)
    if found is None:
        raise NoPacket
    return Packet(found["kind"], found["namespace"] or "/", found["number"], found["body"])


def _decoded(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise BadInput("The packet has no JSON that can be read.") from None


def opened(sid: str, *, upgrades: bool, ping_every: float, pong_within: float, most: int) -> Parcel:
    """The first packet: what the client has to know of the connection."""
    handshake = {
        "sid": sid,
        "upgrades": ["websocket"] if upgrades else [],
        "pingInterval": int(ping_every * 1000),
        "pingTimeout": int(pong_within * 1000),
        "maxPayload": most,
    }
    return Parcel(OPEN.encode() + msgspec.json.encode(handshake))


def connected(sid: str) -> Parcel:
    return Parcel(b"40" + msgspec.json.encode({"sid": sid}))


def refused(namespace: str, message: str, data: Any = None) -> Parcel:
    place = b"" if namespace == "/" else namespace.encode() + b","
    body = {"message": message} | ({} if data is None else {"data": data})
    return Parcel(b"44" + place + msgspec.json.encode(body))


def answer(number: str, body: Any) -> Parcel:
    return Parcel(b"43%s[%s]" % (number.encode(), msgspec.json.encode(body)))
