"""What a Socket.IO client may send, and how it is read: JSON, checked as a request's body is."""

from typing import Any, TypeVar

import msgspec
import socketio

from turnlog.errors import BadInput, TooMany, TurnlogError
from turnlog.transports import problem
from turnlog.transports.fitting import misfit
from turnlog.transports.http.approvals import Answer
from turnlog.transports.http.turns import NewMessage

REQUEST = "request"  # the one event that every packet of a client is, for python-socketio
BUG = {"code": "internal_error", "detail": "Something went wrong. Try again."}
T = TypeVar("T", bound=msgspec.Struct)


class Payload(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What comes with an event."""


class Join(Payload, kw_only=True):
    session_id: str
    after: str | None = None


class Leave(Payload, kw_only=True):
    session_id: str | None = None  # None: all of them


class Stop(Payload, kw_only=True):
    session_id: str


class Message(NewMessage, kw_only=True, forbid_unknown_fields=True):
    session_id: str


class Respond(Answer, kw_only=True, rename="camel", forbid_unknown_fields=True):
    approval_id: str


EXPLAINED: tuple[type[TurnlogError], ...] = tuple(problem.STATUS)


class JsonPacket(socketio.packet.Packet):  # type: ignore[misc]  # it has no types
    """A packet of a client. Attachments, which may be endless, are never waited for.

    Whatever event it names, it is `REQUEST`, with its number and what it holds: no client can
    call our handlers of `connect` and `disconnect`, and we answer when the answer is there.
    """

    packet_type: int
    data: Any
    id: int | None

    def decode(self, encoded_packet: Any) -> int:
        super().decode(encoded_packet)
        if self.packet_type in (socketio.packet.EVENT, socketio.packet.BINARY_EVENT):
            self.packet_type = socketio.packet.EVENT
            items = self.data if isinstance(self.data, list) else []
            self.data, self.id = [REQUEST, self.id, *items], None
        return 0


def payload(args: tuple[Any, ...], kind: type[T]) -> T:
    """What came with the event, checked."""
    if len(args) > 1:
        raise BadInput("Send one object with the event.")
    try:
        raw = msgspec.json.encode(args[0] if args else {})
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError) as error:
        raise BadInput(f"The payload does not fit: {misfit(error, kind)}") from None


def explained(error: TurnlogError) -> dict[str, Any]:
    document: dict[str, Any] = {"code": error.code, "detail": str(error)}
    if isinstance(error, TooMany):
        document["retryAfter"] = error.retry_after
    return document
