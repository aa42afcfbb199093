"""Structured output: JSON of the schema that the request demands, filled from the question."""

from typing import Any

import msgspec

from ..script import Json
from .filling import placeholder
from .schema import DEEPEST, kind_of, plain, properties
from .values import NUMBER, QUOTED


def answer(body: Json, question: str) -> str | None:
    """None: the request does not ask for JSON."""
    form = (body.get("output_config") or {}).get("format")
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return None
    schema = form.get("schema")
    root = schema if isinstance(schema, dict) else {}
    return msgspec.json.encode(_value("answer", root, root, question, 0)).decode()


def _value(name: str, schema: Any, root: Json, question: str, depth: int) -> Any:
    one = plain(schema, root)
    if one.get("type") == "object" and depth < DEEPEST:
        parts = properties(one).items()
        return {key: _value(key, part, root, question, depth + 1) for key, part in parts}
    if one.get("type") == "array" and depth < DEEPEST:
        return []
    return _leaf(name, one, question)


def _leaf(name: str, schema: Json, question: str) -> Any:
    if "const" in schema:
        return schema["const"]
    if kind_of(name, schema) == "enum":
        said = [v for v in schema["enum"] if str(v).lower() in question.lower()]
        return said[0] if said else schema["enum"][0]
    if schema.get("type", "string") == "string":
        quoted = QUOTED.search(question)
        return next(filter(None, quoted.groups())) if quoted else question[:200] or name
    numbers = NUMBER.search(question)
    if schema.get("type") == "integer" and numbers and numbers[1].isdigit():
        return int(numbers[1][:15])
    return placeholder(name, schema)
