"""The fields of each event as a client sees them: one walk over the kinds, for every language."""

from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import UnsetType

from turnlog.events.base import AgentRef, Event
from turnlog.events.content import Span, TokenUsage
from turnlog.events.kinds import KINDS

SHOWN = {name: kind for name, kind in KINDS.items() if not kind.internal}


class Field(NamedTuple):
    name: str
    type: Any
    optional: bool = False


# What the wire shows instead of, or beside, what the log keeps (see Message.shown).
REPLACED: dict[str, list[Field]] = {
    "message": [
        Field("blocks", list[Span]),
        Field("content", str),
        Field("citations", list[dict[str, Any]]),
        Field("stopDetails", Any, optional=True),
    ],
    "tool_result": [Field("inDoubt", bool, optional=True)],
}
ENVELOPE = [
    Field("eventId", str),
    Field("sessionId", str),
    Field("turnId", str),
    Field("timestamp", str),
    Field("eventIndex", int | None),
    Field("persistenceState", str),
    Field("sequenceNumber", int, optional=True),
    Field("agent", AgentRef),
    Field("cursor", str),
]
PARTS: dict[str, list[Field]] = {
    "AgentRef": [Field("id", str), Field("name", str)],
    "Span": [Field(name, int) for name in Span._fields],
    "TokenUsage": [Field(f.encode_name, f.type) for f in msgspec.structs.fields(TokenUsage)],
}


def fields_of(name: str, kind: type[Event]) -> list[Field]:
    """What a client sees of it, without the envelope."""
    replaced = REPLACED.get(name, [])
    hidden = kind.log_only | {field.name for field in replaced}
    own = [
        Field(f.encode_name, f.type, optional=UnsetType in get_args(f.type))
        for f in msgspec.structs.fields(kind)
        if f.encode_name not in hidden
    ]
    return [*own, *replaced]
