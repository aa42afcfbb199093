"""Where in arguments a JSON Schema has which parameters.

A place is what all schemas that a value has to fit say together: references followed, and all
alternatives taken at once. Each schema is visited once for a place, and each place is made
once, so that references that fan out cost no more than they are long.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from turnlog.errors import ToolError

Schema = Any  # JSON Schema: an object, or true or false
MOST_PLACES = 1_000  # of one schema; that of an honest tool has a few
# Where JSON Schema has further schemas inside.
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "additionalItems",
    "unevaluatedItems", "unevaluatedProperties", "propertyNames", "contentSchema",
)  # fmt: skip
# Further schemas about the same value, about its items, and about its values by any name.
_SAME_LISTED = ("anyOf", "oneOf", "allOf")
_SAME = ("if", "then", "else")
_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_VALUES = ("additionalProperties", "unevaluatedProperties")
_ANYTHING = frozenset(("type", "enum", "const", "$ref", *_SAME_LISTED))  # none of these: anything


def has_named(key: str, value: Any) -> bool:
    """Whether the keyword has schemas by name."""
    return key in _BY_NAME and isinstance(value, dict)


def has_listed(key: str, value: Any) -> bool:
    return key in _LISTED and isinstance(value, list)


def has_one(key: str) -> bool:
    return key in _SINGLE


class Place:
    """All that is known of one spot of the arguments."""

    def __init__(self, places: "SchemaPlaces", parts: list[dict[str, Any]]) -> None:
        self._places = places
        self._parts = parts

    @cached_property
    def properties(self) -> set[str]:
        return {name for part in self._parts for name in _dict(part.get("properties"))}

    @cached_property
    def items(self) -> "Place":
        """Where the items of a list stand, all of them."""
        inner = [part.get(key) for part in self._parts for key in _ITEMS]
        return self._places.at(s for each in inner for s in _each(each))

    def named(self, name: str) -> "Place":
        """Where the value of this name stands."""
        if name not in self.properties:
            return self._others
        mine = [_dict(part.get("properties")).get(name) for part in self._parts]
        return self._places.at([*mine, *self._free])

    @cached_property
    def _others(self) -> "Place":
        return self._places.at(self._free)

    @cached_property
    def _free(self) -> list[Schema]:
        """What a value has to fit whatever its name is."""
        patterns = [s for p in self._parts for s in _dict(p.get("patternProperties")).values()]
        return [part.get(key) for part in self._parts for key in _VALUES] + patterns

    @property
    def takes_text(self) -> bool:
        """Whether any of the schemas is one of text, or of anything."""
        return not self._parts or any(
            "string" in _each(part.get("type")) or _ANYTHING.isdisjoint(part)
            for part in self._parts
        )


class SchemaPlaces:
    """The places of one schema. Raises ToolError for one that has too many."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._places: dict[frozenset[int], Place] = {}

    def at(self, schemas: Iterable[Schema]) -> Place:
        """Where a value stands that has to fit these schemas."""
        parts = self._together(schemas)
        key = frozenset(map(id, parts))  # they live as long as the root does
        if key not in self._places:
            if len(self._places) == MOST_PLACES:
                raise ToolError("The schema of this tool is too tangled to be filled in.")
            self._places[key] = Place(self, parts)
        return self._places[key]

    def every_schema(self) -> Iterator[dict[str, Any]]:
        """Each schema of the document, once."""
        waiting = [self._root]
        while waiting:
            schema = waiting.pop()
            if isinstance(schema, dict):
                yield schema
                waiting += [inner for key, value in schema.items() for inner in _inner(key, value)]

    def _together(self, schemas: Iterable[Schema]) -> list[dict[str, Any]]:
        """The schemas and every alternative in them, references followed inside the document."""
        waiting, found = list(schemas), {}
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in found:
                continue
            found[id(schema)] = schema
            if isinstance(schema.get("$ref"), str):
                waiting.append(_at(schema["$ref"], self._root))
            waiting += [schema.get(key) for key in _SAME]
            waiting += [each for key in _SAME_LISTED for each in _list(schema.get(key))]
            waiting += _dict(schema.get("dependentSchemas")).values()
        return list(found.values())


def _inner(key: str, value: Any) -> Iterable[Schema]:
    if has_named(key, value):
        return list(value.values())
    return _each(value) if has_listed(key, value) or has_one(key) else ()


def _at(reference: str, root: Schema) -> Schema:
    place = root
    for step in reference.removeprefix("#").split("/")[1:]:
        place = _dict(place).get(step.replace("~1", "/").replace("~0", "~"))
    return place if reference.startswith("#") else None


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
