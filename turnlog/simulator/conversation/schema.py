"""A JSON schema as far as arguments need it: references followed, one type picked, kinds told."""

import re
from typing import Any

from ..script import Json
from .words import tokens

DEEPEST = 8
EMPTY: Json = {}

# fmt: off
# The first row whose pattern is found in the parameter's words says what it holds.
KINDS_BY_NAME = {
    "email":     r"\b(email|e mail|mail)\b",
    "phone":     r"\b(phone|telephone|mobile|fax)\b",
    "url":       r"\b(url|uri|link|website|homepage)\b",
    "date":      r"\b(date|day|due|deadline|until|when|on)$",
    "reference": r"\b(id|ids|guid|uuid|number|no|key)$",
    "sum":       r"\b(expression|formula|equation)\b",
}
KINDS_BY_TYPE = {
    "boolean": "boolean", "integer": "number", "number": "number",
    "array": "texts", "object": "object", "null": "nothing",
}
QUERY = re.compile(r"\b(query|search|term|keyword|keywords|contains|text|q|name|title)\b")
# fmt: on


def plain(schema: Any, root: Json, depth: int = 0) -> Json:
    """The schema without $ref, anyOf and lists of types: the first choice that is not null."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return EMPTY
    if isinstance(schema.get("$ref"), str):
        return plain(_pointed(schema["$ref"], root), root, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(name)
        if isinstance(choices, list) and choices:
            rest = {key: value for key, value in schema.items() if key != name}
            return rest | plain(_not_null(choices), root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        return schema | {"type": next((k for k in kind if k != "null"), "null")}
    return schema


def properties(schema: Json) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def required(schema: Json) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def words_of(name: str) -> str:
    """`dueDate`, `due_date` -> `due date`."""
    return " ".join(tokens(name))


def kind_of(name: str, schema: Json) -> str:
    """What a parameter holds: see the tables above; anything else is `text`."""
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return "enum"
    if "const" in schema:
        return "const"
    type_ = schema.get("type", "string")
    if type_ == "array" and (schema.get("items") or {}) and _is_object(schema["items"]):
        return "lines"
    if type_ in ("string", "integer"):
        named = _by_name(words_of(name), schema)
        if named and (type_ == "string" or named == "reference"):
            return named
    return KINDS_BY_TYPE.get(type_ if isinstance(type_, str) else "", "text")


def _by_name(words: str, schema: Json) -> str | None:
    if schema.get("format") in ("date", "date-time"):
        return "date"
    return next((kind for kind, names in KINDS_BY_NAME.items() if re.search(names, words)), None)


def _is_object(items: Any) -> bool:
    return isinstance(items, dict) and (items.get("type") == "object" or "$ref" in items)


def _not_null(choices: list[Any]) -> Any:
    return next((c for c in choices if not (isinstance(c, dict) and c.get("type") == "null")), {})


def _pointed(pointer: str, root: Json) -> Any:
    target: Any = root
    for part in pointer.removeprefix("#").strip("/").split("/"):
        target = target.get(part) if isinstance(target, dict) else None
    return target
