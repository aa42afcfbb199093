"""Events to bytes and back. The stored form is JSON, so that SQL can look inside.

A kept event is stored without the fields that have their default: half of a short question would
be such fields. So a default is a part of the stored form, as a name is.

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
from turnlog.events.kinds import KINDS

Body = dict[str, Any]
UPGRADES: dict[tuple[str, int], Callable[[Body], Body]] = {}  # (type, from version) -> next
RENAMED = {"approval_refused": "decision_refused"}  # types as they were once written

_encode = msgspec.json.Encoder().encode
_decoders = {name: msgspec.json.Decoder(kind).decode for name, kind in KINDS.items()}


def _short(kind: type[Event]) -> type[Event]:
    """The same class, but its JSON has no field with its default."""
    tag = kind.__struct_config__.tag
    options = {"tag": tag, "frozen": True, "kw_only": True, "omit_defaults": True}
    return types.new_class(kind.__name__, (kind,), options)


_shortened = {kind: _short(kind) for kind in KINDS.values() if kind.kept}


def encode(event: Event) -> bytes:
    """The stored form."""
    short = _shortened.get(type(event))
    return _encode(short(**asdict(event)) if short else event)


def decode(type_: str, version: int, body: bytes) -> Event:
    """The event as it was appended. Raises UnknownEvent for what this turnlog cannot read."""
    name = RENAMED.get(type_, type_)
    kind = KINDS.get(name)
    if kind is None or version > kind.version:
        raise UnknownEvent(f"{name!r} version {version} was written by a newer turnlog: update.")
    if version == kind.version and name == type_:
        return _decoders[name](body)
    return msgspec.convert(_lift(name, version, kind.version, body) | {"type": name}, kind)


def _lift(type_: str, version: int, wanted: int, body: bytes) -> Body:
    fields: Body = msgspec.json.decode(body)
    for step in range(version, wanted):
        upgrade = UPGRADES.get((type_, step))
        if upgrade is None:
            raise UnknownEvent(f"{type_!r} version {step} was never written by any turnlog.")
        fields = upgrade(fields)
    return fields
