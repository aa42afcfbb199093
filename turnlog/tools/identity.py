"""Identity that the model cannot set: who acts is filled in by the server.

A parameter with a name of IDENTITY is taken out of the schema that the model sees. Whatever
the model sends under such a name, however it is spelled and however deep, is dropped, and what
the server knows is put in its place. The walk is the same for functions and for MCP tools: it
works on JSON and on JSON Schema, before anything becomes a Python value.
"""

import logging
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from turnlog.tools.schema_places import (
    Place,
    Schema,
    SchemaPlaces,
    has_listed,
    has_named,
    has_one,
)

_log = logging.getLogger(__name__)

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
# Words of a parameter's name that make it look as if it said who acts.
LOOK_ALIKE = frozenset(
    ("account", "actor", "behalf", "caller", "identity", "impersonate", "login", "member", "org",
     "organisation", "organization", "owner", "principal", "requester", "tenant", "uid", "user",
     "userid", "username", "workspace")
)  # fmt: skip
_DEEPEST = 64  # levels of arguments
_REMEMBERED = 100  # characters: a tool's own names are shorter, a model's may be of any length
_NO_LETTERS = re.compile(r"[\W_]+")  # neither letters nor digits, of any script


def is_source(source: str) -> bool:
    """Whether a parameter can be filled with it; "=acme" is the text acme, for everybody."""
    return source in SOURCES or source in (LEFT_TO_THE_MODEL, WITHHELD) or source.startswith("=")


def plain(name: str) -> str:
    """userId, USER_ID and user-id are one name."""
    return _plain(name) if len(name) <= _REMEMBERED else _plain.__wrapped__(name)


@lru_cache(maxsize=1000)
def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _NO_LETTERS.sub("", folded)


class Identity:
    """Which parameters are the server's to fill, and with what."""

    def __init__(self, *more: Mapping[str, str]) -> None:
        """`more`: further names, or other sources for the names of IDENTITY; the last one wins."""
        self._more = more
        named = {
            plain(name): source for names in (IDENTITY, *more) for name, source in names.items()
        }
        self._sources = {name: s for name, s in named.items() if s != LEFT_TO_THE_MODEL}
        self._declared = frozenset(named)

    def source(self, name: str) -> str | None:
        """What a parameter of this name is filled with; None: it is the model's."""
        return self._sources.get(plain(name))

    def over(self, names: Mapping[str, str]) -> "Identity":
        """With the server's names below these."""
        return Identity(names, *self._more)

    # the schema

    def hidden(self, schema: Schema) -> Schema:
        """The schema without the parameters that are not the model's, at any depth."""
        if not isinstance(schema, dict):
            return schema
        seen = {key: self._seen(key, value) for key, value in schema.items()}
        if isinstance(seen.get("required"), list):
            seen["required"] = [name for name in seen["required"] if not self._is_ours(name)]
        return seen

    def _seen(self, key: str, value: Any) -> Any:
        if has_named(key, value):
            mine = key == "properties"
            return {n: self.hidden(s) for n, s in value.items() if not (mine and self._is_ours(n))}
        if has_listed(key, value):
            return [self.hidden(each) for each in value]
        return self.hidden(value) if has_one(key) else value

    def _is_ours(self, name: Any) -> bool:
        return isinstance(name, str) and plain(name) in self._sources

    def has_place_in(self, schema: Schema) -> bool:
        """Whether anything in the schema, wherever a reference may point, has a name of ours."""
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            if isinstance(part, list):
                waiting += part
            elif isinstance(part, dict):
                if any(map(self._is_ours, part)):
                    return True
                waiting += part.values()
        return False

    def unfillable(self, schema: Schema) -> Iterator[tuple[str, str]]:
        """(parameter, why) for each that the server cannot fill as the schema wants it."""
        places = SchemaPlaces(schema)
        for part in places.every_schema():
            for name, inner in _properties(part).items():
                source = self.source(name)
                if source == WITHHELD and name in part.get("required", ()):
                    say = f"say so: identity={{{name!r}: '=acme'}}, or 'model' if it may choose"
                    yield name, f"the server knows nothing to fill {name!r} with; {say}"
                elif source and source != WITHHELD and not places.at([inner]).takes_text:
                    yield name, f"{name!r} is filled by the server: make it str"

    def look_alikes(self, schema: Schema) -> list[str]:
        """Parameters that the model sets and that look as if they said who acts."""
        names = {name for part in SchemaPlaces(schema).every_schema() for name in _properties(part)}
        return sorted(name for name in names if self._looks_alike(name))

    def _looks_alike(self, name: str) -> bool:
        if plain(name) in self._declared:
            return False
        return not LOOK_ALIKE.isdisjoint({plain(name), *_words(name)})

    # the arguments

    def filled(self, schema: Schema, arguments: dict[str, Any], context: Any) -> dict[str, Any]:
        """The arguments with the server's identity, wherever the schema has a place for it."""
        places = SchemaPlaces(schema)
        filled = self._filled(places.at([schema]), arguments, context, 0)
        return filled if isinstance(filled, dict) else {}

    def _filled(self, place: Place, value: Any, context: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            return None
        if isinstance(value, list):
            return [self._filled(place.items, each, context, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        inner = {
            name: self._filled(place.named(name), each, context, depth + 1)
            for name, each in value.items()
            if not self._is_ours(name)
        }
        return inner | self._known(place, context)

    def _known(self, place: Place, context: Any) -> dict[str, str]:
        """What the server puts in: for each parameter of that name which the schema has."""
        sources = {name: self.source(name) for name in place.properties}
        return {n: known(s, context) for n, s in sources.items() if s and s != WITHHELD}

    def cleaned(self, value: Any, depth: int = 0) -> Any:
        """The arguments without what is not the model's to set: as they can take effect."""
        if depth > _DEEPEST:
            return None
        if isinstance(value, list):
            return [self.cleaned(each, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self.cleaned(each, depth + 1)
            for name, each in value.items()
            if not self._is_ours(name)
        }

    def report(self, tool: str, arguments: dict[str, Any]) -> None:
        """Say in the log what the model tried to set. Only our name for it: its own is content."""
        for name in sorted(set(map(plain, self.foreign(arguments)))):
            _log.warning("tool %s: the model set %s; it is not the model's to set", tool, name)

    def foreign(self, value: Any, depth: int = 0) -> Iterator[str]:
        """The names in the arguments that are not the model's or a person's to set."""
        if depth > _DEEPEST or not isinstance(value, dict | list):
            return
        if isinstance(value, dict):
            yield from [name for name in value if self._is_ours(name)]
        for each in value.values() if isinstance(value, dict) else value:
            yield from self.foreign(each, depth + 1)


def warn_of(whose: str, name: str, where: str) -> None:
    """The warning for a parameter that looks like an identity."""
    _log.warning(
        "%s: the model sets '%s', which looks as if it said who acts. To have it filled by the"
        ' server, say %s = "user" in %s; if it is for the model, say "model".',
        whose,
        name,
        name,
        where,
    )


def known(source: str, context: Any) -> str:
    """What the server knows, from the context of the call."""
    if source.startswith("="):
        return source[1:]
    text: str = getattr(context, SOURCES[source])
    return text


def _words(name: str) -> list[str]:
    """ownerId and owner_id have the words owner and id."""
    apart = "".join(f" {letter}" if letter.isupper() else letter for letter in name)
    spaced = "".join(letter if letter.isalnum() else " " for letter in apart)
    return spaced.casefold().split()


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}
