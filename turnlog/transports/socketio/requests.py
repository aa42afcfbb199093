"""What a Socket.IO client may send, and how it is read: JSON, checked as a request's body is."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from turnlog.errors import BadInput, TooMany, TurnlogError
from turnlog.events import numbers
from turnlog.transports import problem
from turnlog.transports.fitting import misfit
from turnlog.transports.http.resources.approvals import Answer
from turnlog.transports.http.resources.turns import NewMessage

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
    turn_id: str | None = None  # None: whichever runs


class Message(NewMessage, kw_only=True, forbid_unknown_fields=True):
    session_id: str


class Respond(Answer, kw_only=True, rename="camel", forbid_unknown_fields=True):
    approval_id: str


EXPLAINED: tuple[type[TurnlogError], ...] = tuple(problem.STATUS)


def name(items: Sequence[msgspec.Raw]) -> str:
    """What an event is called; empty where it has no name."""
    try:
        return msgspec.json.decode(items[0], type=str) if items else ""
    except (msgspec.MsgspecError, UnicodeError):
        return ""


def payload(items: Sequence[msgspec.Raw], kind: type[T]) -> T:
    """What came with the event, checked."""
    if len(items) > 2:
        raise BadInput("Send one object with the event.")
    try:
        value: T = numbers.decode(items[1] if len(items) == 2 else b"{}", kind)
        return value
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"The payload does not fit: {misfit(error, kind)}") from None


def explained(error: TurnlogError) -> dict[str, Any]:
    document: dict[str, Any] = {"code": error.code, "detail": str(error)}
    if isinstance(error, TooMany):
        document["retryAfter"] = error.retry_after
    return document
