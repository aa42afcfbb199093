"""The schema of an answer, as the API takes it: closed objects, and bounds in words.

The SDK has the same as `transform_schema`, which a test compares; importing it takes seconds. The
answer is checked by the whole schema when it is there.
"""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
FORMATS = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
)  # of texts, that the API knows
PLAIN = (str, int, float, bool, type(None))


def strict(schema: Mapping[str, Any]) -> Schema:
    """What the API does not take goes to the end of the description, for the model to read."""
    left = dict(schema)
    taken: Schema = {}
    if "$defs" in left:
        taken["$defs"] = {name: strict(part) for name, part in left.pop("$defs").items()}
    if "$ref" in left:
        return taken | {"$ref": left["$ref"]}
    kind = left.pop("type", None)
    literals = _literals(left)
    taken |= literals
    if kinds := _kinds(left):
        taken |= kinds
    elif not literals:
        taken["type"] = kind
    taken |= {name: left.pop(name) for name in ("description", "title") if name in left}
    if not literals and kind in _PARTS:
        taken |= _PARTS[kind](left)
    return _in_words(taken, left)


def _literals(left: Schema) -> Schema:
    found: Schema = {}
    choices = left.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(c, PLAIN) for c in choices):
        found["enum"] = left.pop("enum")
    if "const" in left and isinstance(left["const"], PLAIN):
        found["const"] = left.pop("const")
    return found


def _kinds(left: Schema) -> Schema:
    given = {name: left.pop(name, None) for name in ("anyOf", "oneOf", "allOf")}
    for name, parts in given.items():
        if isinstance(parts, list):
            return {"allOf" if name == "allOf" else "anyOf": [strict(part) for part in parts]}
    return {}


def _object(left: Schema) -> Schema:
    left.pop("additionalProperties", None)
    named = {name: strict(part) for name, part in left.pop("properties", {}).items()}
    required = {"required": left.pop("required")} if "required" in left else {}
    return {"properties": named, "additionalProperties": False} | required


def _text(left: Schema) -> Schema:
    return {"format": left.pop("format")} if left.get("format") in FORMATS else {}


def _array(left: Schema) -> Schema:
    items = {"items": strict(left.pop("items"))} if "items" in left else {}
    least = {"minItems": left.pop("minItems")} if left.get("minItems") in (0, 1) else {}
    return items | least


_PARTS = {"object": _object, "string": _text, "array": _array}


def _in_words(taken: Schema, left: Schema) -> Schema:
    if not left:
        return taken
    words = "{" + ", ".join(f"{name}: {value}" for name, value in left.items()) + "}"
    before = taken.get("description")
    return taken | {"description": words if before is None else f"{before}\n\n{words}"}
