"""What every event is, and the envelope that gives it its place.

An event says what happened and nothing else; who, where and when are in `Stamped`,
so that equal content is equal events. Fields are snake_case here, camelCase on the wire.
"""

from functools import cache
from typing import Any, ClassVar

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A small frozen value: camelCase outside, snake_case inside. It is never part of a cycle, so
    the collector of cycles does not look at it."""


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
        values = msgspec.structs.astuple(self)
        for name, value in zip(_shown_names(type(self)), values, strict=True):
            if name is not None and value is not msgspec.UNSET:
                shown[name] = value
        return shown


@cache
def _shown_names(kind: type[Event]) -> tuple[str | None, ...]:
    """Of each field its name on the wire; None: clients do not see it."""
    names = kind.__struct_encode_fields__
    return tuple(None if name in kind.log_only else name for name in names)


class AgentRef(Value, frozen=True, kw_only=True):
    """Which agent an event is from."""

    id: str
    name: str


class Attributed(msgspec.Struct, frozen=True):
    """An event whose author and fate are decided."""

    event: Event
    agent: AgentRef
    internal: bool
    kept: bool


class Envelope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event with its place in the turn; the log has not numbered it yet."""

    event: Event
    event_id: str
    time: str  # RFC 3339, UTC
    agent: AgentRef
    index: int | None  # the order on screen; internal events have none
    internal: bool
    kept: bool


class Stamped(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
