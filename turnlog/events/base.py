"""What every event is, and the envelope that gives it its place.

An event says what happened and nothing else; who, where and when are in `Stamped`,
so that equal content is equal events. Fields are snake_case here, camelCase on the wire.
"""

from functools import cache
from typing import Any, ClassVar, NamedTuple

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A small frozen value: camelCase outside, snake_case inside."""


class Event(Value, frozen=True, kw_only=True, tag_field="type"):
    """One thing that happened in a session. A class declares the fate of its events."""

    kept: ClassVar[bool] = False  # written to the log, with a number
    internal: ClassVar[bool] = False  # for the audit only, never on a user's wire
    shown_as: ClassVar[str] = "transient"  # persistenceState on the wire
    log_only: ClassVar[frozenset[str]] = frozenset()  # wire names that stay in the log
    audited: ClassVar[frozenset[str]] = frozenset()  # those of them that auditors see
    version: ClassVar[int] = 1  # of the stored form; codec.UPGRADES reads older ones

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)

    def shown(self) -> dict[str, Any]:
        """What a client sees of it, without the envelope. Values are as they are, not copied."""
        shown: dict[str, Any] = {"type": self.type}
        for attribute, name in _shown_fields(type(self)):
            value = getattr(self, attribute)
            if value is not msgspec.UNSET:
                shown[name] = value
        return shown


@cache
def _shown_fields(kind: type[Event]) -> tuple[tuple[str, str], ...]:
    """Attributes that clients see, each with its name on the wire."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return tuple((attribute, name) for attribute, name in names if name not in kind.log_only)


class AgentRef(Value, frozen=True, kw_only=True):
    """Which agent an event is from."""

    id: str
    name: str


class Attributed(NamedTuple):
    """An event whose author and fate are decided."""

    event: Event
    agent: AgentRef
    internal: bool
    kept: bool


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its place in the turn; the log has not numbered it yet."""

    event: Event
    event_id: str
    time: str  # RFC 3339, UTC
    agent: AgentRef
    index: int | None  # the order on screen; internal events have none
    internal: bool
    kept: bool


class Stamped(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its final place: who produced it, and where it stands."""

    session_id: str
    turn_id: str
    envelope: Envelope
    seq: int | None  # kept events only: the order in the log
    position: int  # the number of the last kept event up to here
    erased: str = ""  # the type of what was destroyed; the event only stands in its place

    @property
    def event(self) -> Event:
        return self.envelope.event

    @property
    def cursor(self) -> str:
        """Where to go on from, after this event."""
        return f"{self.position}.{-1 if self.envelope.index is None else self.envelope.index}"
