"""Events to bytes and back. The stored form is JSON, so that SQL can look inside.

A kept event is stored without the fields that have their default, also those of its token usage:
half of a short question would be such fields. So a default is a part of the stored form, as a name
is. Its type is not in there either: whoever keeps the bytes keeps it beside them.

A class whose stored form changes raises its `version` and adds a row to UPGRADES;
rows written before are lifted, version by version, when they are read.
"""

import types
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import asdict

from turnlog.errors import UnknownEvent
from turnlog.events.base import Event
from turnlog.events.content import TokenUsage
from turnlog.events.kinds import KINDS

Body = dict[str, Any]
UPGRADES: dict[tuple[str, int], Callable[[Body], Body]] = {}  # (type, from version) -> next
RENAMED = {"approval_refused": "decision_refused"}  # types as they were once written

_encode = msgspec.json.Encoder().encode
_decoders = {name: msgspec.json.Decoder(kind).decode for name, kind in KINDS.items()}


def _short(kind: type[Any]) -> type[Any]:
    """The same class, but its JSON has no type, and no field with its default."""
    options = {"tag": False, "frozen": True, "kw_only": True, "omit_defaults": True}
    return types.new_class(kind.__name__, (kind,), options)


_shortened = {kind: _short(kind) for kind in KINDS.values() if kind.kept}
_ShortUsage = _short(TokenUsage)


def encode(event: Event) -> bytes:
    """The stored form."""
    short = _shortened.get(type(event))
    if short is None:
        return _encode(event)
    fields = asdict(event)
    if "token_usage" in fields:
        fields["token_usage"] = _ShortUsage(**asdict(fields["token_usage"]))
    return _encode(short(**fields))


def decode(type_: str, version: int, body: bytes) -> Event:
    """The event as it was appended. Raises UnknownEvent for what this turnlog cannot read."""
    kind = KINDS.get(type_)
    if kind is not None and version == kind.version:
        return _decoders[type_](body)
    name = RENAMED.get(type_, type_)
    kind = KINDS.get(name)
    if kind is None or version > kind.version:
        raise UnknownEvent(f"{name!r} version {version} was written by a newer turnlog: update.")
    return msgspec.convert(_lift(name, version, kind.version, body) | {"type": name}, kind)


def _lift(type_: str, version: int, wanted: int, body: bytes) -> Body:
    fields: Body = msgspec.json.decode(body)
    for step in range(version, wanted):
        upgrade = UPGRADES.get((type_, step))
        if upgrade is None:
            raise UnknownEvent(f"{type_!r} version {step} was never written by any turnlog.")
        fields = upgrade(fields)
    return fields
