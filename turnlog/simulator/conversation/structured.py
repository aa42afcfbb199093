"""Structured output: an answer as a value of the schema that was asked for.

The values come of the question and of the answer in words, as far as they fit: its numbers, the
choices that it names, the answer as text. The rest is the least that the schema allows.
"""

import re
from itertools import chain, repeat
from typing import Any

import msgspec

from ..script import Json

DEEPEST = 30  # objects in objects; a schema may contain itself
_BOUND = re.compile(r"(\w+): ([^,{}]+)")
_BOUNDS = re.compile(r"\{([^{}]*)\}\s*$")  # where the SDK puts what the API does not take
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# fmt: off
FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date":      "2026-01-01",
    "time":      "00:00:00Z",
    "duration":  "P1D",
    "email":     "somebody@example.com",
    "hostname":  "example.com",
    "uri":       "https://example.com/",
    "ipv4":      "192.0.2.1",
    "ipv6":      "2001:db8::1",
    "uuid":      "00000000-0000-4000-8000-000000000000",
}
# fmt: on


class Impossible(Exception):
    """No value of this schema can be made by rules."""


def as_json(schema: Json, question: str, answer: str) -> str:
    """The answer as JSON. Raises Impossible."""
    return msgspec.json.encode(_Maker(schema, question, answer).value(schema, 0)).decode()


class _Maker:
    """Makes the values of one answer."""

    def __init__(self, schema: Json, question: str, answer: str) -> None:
        self._parts = schema.get("$defs", {})
        self._question, self._answer = question.lower(), answer
        self._numbers = chain(map(float, _NUMBER.findall(question)), repeat(1.0))

    def value(self, schema: Json, depth: int) -> Any:
        if depth > DEEPEST:
            raise Impossible("it contains itself without an end")
        if "$ref" in schema:
            return self.value(self._parts[schema["$ref"].rpartition("/")[2]], depth + 1)
        if "const" in schema:
            return schema["const"]
        if choices := schema.get("enum"):
            named = [each for each in choices if str(each).lower() in self._question]
            return (named or choices)[0]
        if kinds := schema.get("anyOf") or schema.get("oneOf"):
            return self._first_possible(kinds, depth)
        if schema.get("allOf"):
            return self.value({k: v for part in schema["allOf"] for k, v in part.items()}, depth)
        return self._of_type(schema, depth)

    def _first_possible(self, kinds: list[Json], depth: int) -> Any:
        for kind in kinds:
            try:
                return self.value(kind, depth + 1)
            except Impossible:
                continue
        raise Impossible("none of its kinds can be made")

    def _of_type(self, schema: Json, depth: int) -> Any:
        bounds = _bounds(schema)
        match schema.get("type"):
            case "object":
                named = schema.get("properties", {})
                return {name: self.value(part, depth + 1) for name, part in named.items()}
            case "array":
                count = int(bounds.get("minItems", 1))
                return [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]
            case "integer" | "number" as kind:
                return self._number(kind, bounds)
            case "boolean":
                return True
            case "null":
                return None
        return self._text(schema, bounds)

    def _number(self, kind: str, bounds: dict[str, float]) -> float | int:
        step = bounds.get("multipleOf", 1.0 if kind == "integer" else 0.0)
        number = next(self._numbers)
        number = max(number, bounds.get("minimum", number))
        number = max(number, bounds.get("exclusiveMinimum", number - 1) + (step or 1))
        number = min(number, bounds.get("maximum", number))
        number = min(number, bounds.get("exclusiveMaximum", number + 1) - (step or 1))
        number = round(number / step) * step if step else number
        return int(number) if kind == "integer" else number

    def _text(self, schema: Json, bounds: dict[str, float]) -> str:
        if "pattern: " in schema.get("description", "") or "pattern" in schema:
            raise Impossible("a text must fit a pattern")
        text = FORMATS.get(schema.get("format", ""), self._answer)
        least, most = int(bounds.get("minLength", 0)), int(bounds.get("maxLength", len(text)))
        return text[: max(least, most)].ljust(least, ".")


def _bounds(schema: Json) -> dict[str, float]:
    """In the schema, or in its description, in words."""
    found = _BOUNDS.search(schema.get("description", ""))
    said = dict(_BOUND.findall(found[1])) if found else {}
    bounds = said | {name: str(value) for name, value in schema.items()}
    return {name: float(text) for name, text in bounds.items() if _NUMBER.fullmatch(text.strip())}
