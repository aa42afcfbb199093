"""The JSON Schema of every event, made from the events themselves."""

from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import UnsetType

from turnlog.transports.event_fields import ENVELOPE, PARTS, SHOWN, Field, fields_of

Json = dict[str, Any]
EVENT = "Event"
_WORDS: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    bool: {"type": "boolean"},
    Any: {},
    NoneType: {"type": "null"},
    dict[str, Any]: {"type": "object", "additionalProperties": True},
}


def event_schemas() -> dict[str, Json]:
    """By name: each kind of event, what they are made of, and `Event`, which is any of them."""
    kinds = {f"{kind.__name__}Event": name for name, kind in SHOWN.items()}
    parts = {name: _object(fields, "") for name, fields in PARTS.items()}
    events = {title: _event(name) for title, name in kinds.items()}
    references = {name: _reference(title) for title, name in kinds.items()}
    mapping = {name: each["$ref"] for name, each in references.items()}
    either = {
        "oneOf": list(references.values()),
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    return parts | events | {EVENT: either}


def _event(name: str) -> Json:
    kind = SHOWN[name]
    about = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    schema = _object([*ENVELOPE, *fields_of(name, kind)], about)
    schema["properties"] = {"type": {"type": "string", "const": name}, **schema["properties"]}
    schema["properties"]["isInternal"] = {"type": "boolean", "description": "For auditors."}
    schema["required"] = ["type", *schema["required"]]
    return schema


def _object(fields: list[Field], about: str) -> Json:
    schema: Json = {
        "type": "object",
        "properties": {field.name: _of(field.type) for field in fields},
        "required": [field.name for field in fields if not field.optional],
    }
    return schema | ({"description": about} if about else {})


def _of(hint: Any) -> Json:
    if hint in _WORDS:
        return _WORDS[hint]
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _any_of([_of(part) for part in get_args(hint) if part is not UnsetType])
    if origin is list:
        return {"type": "array", "items": _of(get_args(hint)[0])}
    if hint.__name__ not in PARTS:
        raise TypeError(f"{hint!r} has no schema here: add it to event_fields.PARTS")
    return _reference(hint.__name__)


def _any_of(parts: list[Json]) -> Json:
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
