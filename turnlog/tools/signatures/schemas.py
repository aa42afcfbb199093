"""JSON Schema of a function's arguments, as the API wants it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnlog.tools.signatures import hints


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of type object at the top, as the API wants it."""
    (top,), parts = msgspec.json.schema_components(
        [struct], schema_hook=hints.schema_of_adapted, ref_template="#/$defs/{name}"
    )
    schema = dict(parts.pop(struct.__name__)) if "$ref" in top else dict(top)
    schema.pop("title", None)
    return hoisted(schema, parts)


def described(schema: dict[str, Any], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """What the docstring says, where the hint says nothing."""
    for name, text in descriptions.items():
        if name in schema.get("properties", {}):
            schema["properties"][name] = {"description": text} | schema["properties"][name]
    return schema


def hoisted(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The schema with all definitions at its top, where references look for them.

    Raises TypeError where two of them have the same name.
    """
    parts.update(schema.get("$defs", {}))
    whole: dict[str, Any] = _hoisted(schema | {"$defs": parts}, parts)
    return whole if parts else {n: v for n, v in whole.items() if n != "$defs"}


def _hoisted(schema: Any, parts: dict[str, Any]) -> Any:
    """Definitions that stand inside are moved to the top, where references look for them."""
    if isinstance(schema, list):
        return [_hoisted(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    for name, part in (schema.get("$defs", {}) if schema.get("$defs") is not parts else {}).items():
        if parts.setdefault(name, part) != part:
            raise TypeError(f"two different types are called {name!r}: rename one of them")
    inside = {n: v for n, v in schema.items() if n != "$defs"}
    whole = {n: _hoisted(v, parts) for n, v in inside.items()}
    if schema.get("$defs") is parts:
        for name in list(parts):  # also those that were added meanwhile
            parts[name] = _hoisted(parts[name], parts)
        whole["$defs"] = parts
    return whole
