"""Identity that the model cannot set: who acts is filled in by the server.

A parameter with a name of IDENTITY is taken out of the schema that the model sees. Whatever
the model sends under such a name, however it is spelled and however deep, is dropped, and what
the server knows is put in its place.
"""

import logging
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

_log = logging.getLogger(__name__)
Schema = Any  # JSON Schema: an object, or true or false

# What the server knows, and where a ToolContext has it.
SOURCES = {
    "user": "user_id",
    "session": "session_id",
    "turn": "turn_id",
    "call": "tool_use_id",
}
LEFT_TO_THE_MODEL = "model"
WITHHELD = "nothing"
# Parameter -> what it is filled with. There is one tenant here: no tool is told of others.
IDENTITY = {
    "user_id": "user",
    "session_id": "session",
    "tenant": WITHHELD,
    "tenant_id": WITHHELD,
}
# Where JSON Schema has further schemas inside.
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_DEEPEST = 64  # levels of arguments


def is_source(source: str) -> bool:
    """Whether a parameter can be filled with it; "=acme" is the text acme, for everybody."""
    return source in SOURCES or source in (LEFT_TO_THE_MODEL, WITHHELD) or source.startswith("=")


def plain(name: str) -> str:
    """userId, USER_ID and user-id are one name."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


class Identity:
    """Which parameters are the server's to fill, and with what."""

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        """`more`: further names, or other sources for the names of IDENTITY."""
        named = {plain(name): source for name, source in (IDENTITY | dict(more or {})).items()}
        self._sources = {name: s for name, s in named.items() if s != LEFT_TO_THE_MODEL}

    def source(self, name: str) -> str | None:
        """What a parameter of this name is filled with; None: it is the model's."""
        return self._sources.get(plain(name))

    def hidden(self, schema: Schema) -> Schema:
        """The schema without the parameters that are not the model's, at any depth."""
        if not isinstance(schema, dict):
            return schema
        seen = {key: self._seen(key, value) for key, value in schema.items()}
        if isinstance(seen.get("required"), list):
            seen["required"] = [name for name in seen["required"] if not self._is_ours(name)]
        return seen

    def _seen(self, key: str, value: Any) -> Any:
        if key in _BY_NAME and isinstance(value, dict):
            mine = key == "properties"
            return {n: self.hidden(s) for n, s in value.items() if not (mine and self._is_ours(n))}
        if key in _LISTED and isinstance(value, list):
            return [self.hidden(each) for each in value]
        return self.hidden(value) if key in _SINGLE else value

    def _is_ours(self, name: Any) -> bool:
        return isinstance(name, str) and self.source(name) is not None

    def stripped(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments without what is not the model's, at the top."""
        return {name: value for name, value in arguments.items() if not self._is_ours(name)}

    def report(self, tool: str, arguments: dict[str, Any]) -> None:
        """Say in the log what the model tried to set. Only our name for it: its own is content."""
        for name in arguments.keys() - self.stripped(arguments).keys():
            ours = plain(name)
            _log.warning("tool %s: the model set %s; it is not the model's to set", tool, ours)

    def filled(
        self, tool: str, schema: Schema, arguments: dict[str, Any], context: Any
    ) -> dict[str, Any]:
        """The arguments with the server's identity, wherever the schema has a place for it."""
        filled = self._filled(tool, [schema], schema, arguments, context, 0)
        return filled if isinstance(filled, dict) else {}

    def _filled(
        self, tool: str, schemas: list[Schema], root: Schema, value: Any, context: Any, depth: int
    ) -> Any:
        if depth > _DEEPEST:
            return None
        parts = [part for schema in schemas for part in _parts(schema, root)]
        if isinstance(value, list):
            items = [part["items"] for part in parts if "items" in part]
            items += [each for part in parts for each in _list(part.get("prefixItems"))]
            return [self._filled(tool, items, root, v, context, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        self.report(tool, value)
        inner = {
            name: self._filled(tool, _of(parts, name), root, v, context, depth + 1)
            for name, v in self.stripped(value).items()
        }
        return inner | self._known(parts, context)

    def _known(self, parts: list[dict[str, Any]], context: Any) -> dict[str, str]:
        """What the server puts in: for each parameter of that name which the schema has."""
        names = {name for part in parts for name in _dict(part.get("properties"))}
        sources = {name: self.source(name) for name in names}
        return {n: known(s, context) for n, s in sources.items() if s and s != WITHHELD}


def known(source: str, context: Any) -> str:
    """What the server knows, from the context of the call."""
    if source.startswith("="):
        return source[1:]
    text: str = getattr(context, SOURCES[source])
    return text


def _parts(schema: Schema, root: Schema, seen: tuple[int, ...] = ()) -> Iterator[dict[str, Any]]:
    """The schema and every alternative in it, references followed inside the document."""
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    yield schema
    seen = (*seen, id(schema))
    if isinstance(schema.get("$ref"), str):
        yield from _parts(_at(schema["$ref"], root), root, seen)
    for key in ("anyOf", "oneOf", "allOf"):
        for each in _list(schema.get(key)):
            yield from _parts(each, root, seen)
    for key in ("if", "then", "else"):
        yield from _parts(schema.get(key), root, seen)


def _at(reference: str, root: Schema) -> Schema:
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = _dict(found).get(step.replace("~1", "/").replace("~0", "~"))
    return found if reference.startswith("#") else None


def _of(parts: list[dict[str, Any]], name: str) -> list[Schema]:
    """The schemas that a value of this name has to fit."""
    named = [_dict(part.get("properties")).get(name) for part in parts]
    free = [part.get("additionalProperties") for part in parts]
    return [schema for schema in named + free if schema is not None]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
