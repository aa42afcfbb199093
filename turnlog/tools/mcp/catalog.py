"""Their tools as ours. What a server says about its tools is read by the model: it is bounded.

A tool that the model's provider would refuse is left out, alone: one bad schema must not cost
the agent its other tools.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from turnlog.events.handovers import is_reserved
from turnlog.ports import ToolSpec
from turnlog.tools.identity import Identity
from turnlog.tools.mcp.server import McpServer

MOST_TOOLS = 128  # of one server
MOST_NAME = 64
MOST_TITLE = 100
MOST_DESCRIPTION = 2_000  # characters, of a tool
MOST_NOTE = 500  # characters, of a parameter
MOST_SCHEMA = 32_000  # bytes
MOST_TOGETHER = 256_000  # bytes of all tools of a server: every prompt has them
DEEPEST_SCHEMA = 24
MOST_PARTS = 1_000  # objects in a schema: each takes the validator a third of a millisecond
MOST_NAMES = 100  # in a list that holds something else too
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_REFUSED_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref")
_WORDS = ("description", "title", "$comment")
_KEPT_SPACE = "\n\t"
_NAME_THEM = "name those that are needed in [mcp.{server}] tools"
_TOO_MANY = f"there are too many: {_NAME_THEM}"
_TOO_LARGE = f"together they are larger than {MOST_TOGETHER} bytes: {_NAME_THEM}"


# (whether it reads, whether its server is trusted) -> by what that is known.
_WHY = {
    (True, True): "MCP server {server} says that it reads",
    (False, True): "MCP server {server} does not say that it only reads",
    (False, False): "MCP server {server} is not trusted",
}


class Listed(NamedTuple):
    """A tool of theirs that can be offered."""

    name: str  # theirs
    schema: dict[str, Any]  # theirs, with the parameters that the server fills
    spec: ToolSpec  # as the model sees it
    writes: bool
    why: str  # by what it is known whether it writes
    repeatable: bool  # whether the same call again changes nothing more
    title: str = ""  # for people


class Left(NamedTuple):
    """A tool of theirs that cannot, and why."""

    name: str
    why: str


def listed(server: McpServer, tools: Sequence[Any], identity: Identity) -> Iterator[Listed | Left]:
    """Each tool of a listing, in order. `tools` are those of the protocol."""
    wanted = [each for each in tools if server.tools is None or each.name in server.tools]
    seen: set[str] = set()
    size = 0
    for theirs in wanted[:MOST_TOOLS]:
        try:
            if theirs.name in seen:
                raise _Unusable("there are two with this name")
            tool = _one(server, theirs, identity)
            if size + (own := len(msgspec.json.encode(tool.spec))) > MOST_TOGETHER:
                raise _Unusable(_TOO_LARGE.format(server=server.name))
            size += own
            yield tool
        except _Unusable as why:
            yield Left(clean(theirs.name, MOST_NAME), str(why))
        seen.add(theirs.name)
    if len(wanted) > MOST_TOOLS:
        yield Left(f"{MOST_TOOLS + 1} and those after it", _TOO_MANY.format(server=server.name))
    for name in sorted(set(server.tools or ()) - {each.name for each in tools}):
        yield Left(name, "the server has none of this name")


def _one(server: McpServer, theirs: Any, identity: Identity) -> Listed:
    schema = usable(theirs.input_schema)
    spec = ToolSpec(
        name=safe_name(server, theirs.name),
        description=clean(theirs.description or theirs.title or "", MOST_DESCRIPTION),
        input_schema=identity.hidden(schema),
    )
    hints = theirs.annotations if server.trusted else None  # a hint that is not there says nothing
    reads = hints is not None and hints.read_only_hint is True
    repeatable = hints is not None and hints.idempotent_hint is True
    title = clean(theirs.title or (hints.title if hints else "") or "", MOST_TITLE)
    why = _WHY[reads, server.trusted].format(server=server.name)
    return Listed(theirs.name, schema, spec, not reads, why, repeatable, title)


class _Unusable(Exception):
    """Why no model can be offered a tool."""


# names


def safe_name(server: McpServer, name: str) -> str:
    """A name that the model's provider takes: no server can pass its tool off as another's."""
    is_bare = not server.prefix and not is_reserved(name)
    return _safe(name, name) if is_bare else prefixed(server, name)


def prefixed(server: McpServer, name: str) -> str:
    """With the server's name in front, whatever its settings say."""
    return _safe(f"{server.name}__{name}", name)


def _safe(wanted: str, name: str) -> str:
    safe = re.sub(r"[^a-zA-Z0-9_-]", "_", wanted)
    if safe == wanted and 0 < len(wanted) <= MOST_NAME:
        return wanted
    mark = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{safe[: MOST_NAME - 9]}_{mark}"


# words


def clean(text: str, most: int) -> str:
    """Without characters that people do not see, and not longer than `most`."""
    seen = "".join(letter for letter in text[: most * 4] if _is_seen(letter))
    return seen if len(seen) <= most else seen[: most - 1] + "…"


def _is_seen(letter: str) -> bool:
    return letter in _KEPT_SPACE or unicodedata.category(letter)[0] != "C"


def _worded(schema: Any) -> Any:
    """The schema with its words bounded; what it allows stays as it is."""
    if isinstance(schema, list):
        return [_worded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: clean(value, MOST_NOTE) if key in _WORDS and isinstance(value, str) else _worded(value)
        for key, value in schema.items()
    }


# schemas


def usable(schema: Any) -> dict[str, Any]:
    """The schema as a model's provider takes it. Raises _Unusable where there is no way."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise _Unusable("its schema is not of type object")
    if _depth(schema) > DEEPEST_SCHEMA:
        raise _Unusable(f"its schema is nested deeper than {DEEPEST_SCHEMA}")
    worded: dict[str, Any] = _worded(_top(schema))
    if len(msgspec.json.encode(worded)) > MOST_SCHEMA:
        raise _Unusable(f"its schema is larger than {MOST_SCHEMA} bytes")
    _check(worded)
    return worded


def _top(schema: dict[str, Any]) -> dict[str, Any]:
    """As the provider wants the top of a schema; what this loses, the server still checks."""
    kept = {key: value for key, value in schema.items() if key not in _REFUSED_AT_TOP}
    return {"properties": {}} | kept | {"type": "object"}


def _depth(value: Any) -> int:
    """How deep it goes, as far as it matters."""
    level, depth = [value], 0
    while level and depth <= DEEPEST_SCHEMA:
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
        depth += 1
    return depth


def _check(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    parts = list(_parts(schema))
    if len(parts) > MOST_PARTS:
        raise _Unusable(f"its schema has more than {MOST_PARTS} parts")
    if any(_is_slow(names) for part in parts for names in _name_lists(part)):
        raise _Unusable("its schema is not JSON Schema")
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        raise _Unusable("its schema is not JSON Schema") from None
    for key in schema["properties"]:
        if not _KEY.fullmatch(key):
            raise _Unusable(f"a parameter has the name {clean(key, 40)!r}")


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in the schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _name_lists(part: dict[str, Any]) -> Iterator[Any]:
    """What the validator wants to be names that are all different."""
    yield from (part.get("type"), part.get("required"))
    for key in ("dependentRequired", "dependencies"):
        yield from part[key].values() if isinstance(part.get(key), dict) else ()


def _is_slow(names: Any) -> bool:
    """Whether the validator would compare each with each: seconds, for thousands of them."""
    is_long = isinstance(names, list) and len(names) > MOST_NAMES
    return is_long and not all(isinstance(name, str) for name in names)
