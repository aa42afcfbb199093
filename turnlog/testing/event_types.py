"""The types of events, for clients: TypeScript and Python, written from the events themselves.

One table of words for each language, one walk over the kinds. `make docs` writes the files.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import UnsetType

from turnlog.events.base import Event
from turnlog.transports.event_fields import ENVELOPE, PARTS, SHOWN, Field, fields_of


@dataclass(frozen=True)
class Language:
    """How a language says it."""

    words: dict[Any, str]
    listed: str
    union: str = " | "

    def says(self, hint: Any) -> str:
        if hint in self.words:
            return self.words[hint]
        origin = get_origin(hint)
        if origin in (Union, UnionType):
            said = [self.says(part) for part in get_args(hint) if part is not UnsetType]
            return self.union.join(dict.fromkeys(said))
        if origin is list:
            return self.listed.format(self.says(get_args(hint)[0]))
        return str(hint.__name__)


# fmt: off
TYPESCRIPT = Language(
    {str: "string", int: "number", float: "number", Decimal: "number", bool: "boolean",
     Any: "unknown", NoneType: "null", dict[str, Any]: "Record<string, unknown>"},
    listed="Array<{}>",
)
PYTHON = Language(
    {str: "str", int: "int", float: "float", Decimal: "float", bool: "bool",
     Any: "Any", NoneType: "None", dict[str, Any]: "dict[str, Any]"},
    listed="list[{}]",
)
# fmt: on


def typescript() -> str:
    """The module with an interface for each event, and their union."""
    return "\n".join(_typescript()) + "\n"


def _typescript() -> Iterator[str]:
    yield "// Written by `make docs` from the events of the server. Do not edit."
    for name, fields in [*PARTS.items(), ("Envelope", ENVELOPE)]:
        yield from ("", f"export interface {name} {{", *map(_member, fields), "}")
    for name, kind in SHOWN.items():
        yield from ("", f"/** {_summary(kind)} */")
        yield f"export interface {kind.__name__} extends Envelope {{"
        yield from (f'  type: "{name}";', *map(_member, fields_of(name, kind)), "}")
    yield from ("", "export type TurnlogEvent =")
    yield "\n".join(f"  | {kind.__name__}" for kind in SHOWN.values()) + ";"
    yield from ("", "/** Every type of event, so that a program can check that it handles all. */")
    yield "export const EVENT_TYPES = ["
    yield from (f'  "{name}",' for name in SHOWN)
    yield "] as const;"


def _member(field: Field) -> str:
    return f"  {field.name}{'?' if field.optional else ''}: {TYPESCRIPT.says(field.type)};"


def python() -> str:
    """The same as a module of TypedDicts."""
    return "\n".join(_python()) + "\n"


def _python() -> Iterator[str]:
    yield '"""The events as the wire has them. Written by `make docs`: do not edit."""'
    yield from ("", "from typing import Any, Literal, NotRequired, TypedDict")
    for name, fields in [*PARTS.items(), ("Envelope", ENVELOPE)]:
        yield from ("", "", f"class {name}(TypedDict):", *map(_attribute, fields))
    for name, kind in SHOWN.items():
        fields = fields_of(name, kind)
        yield from ("", "")
        if any(field.name == "from" for field in fields):  # no attribute can have this name
            yield f"{kind.__name__} = TypedDict("
            yield from (f'    "{kind.__name__}",', "    {")
            typed = [Field("type", None), *ENVELOPE, *fields]
            yield from (f'        "{f.name}": {_hint(f, name)},' for f in typed)
            yield from ("    },", ")")
        else:
            yield f"class {kind.__name__}(Envelope):"
            yield from (f'    """{_summary(kind)}"""', "", f'    type: Literal["{name}"]')
            yield from map(_attribute, fields)
    yield from ("", "", "Event = (", f"    {next(iter(SHOWN.values())).__name__}")
    yield from (f"    | {kind.__name__}" for kind in [*SHOWN.values()][1:])
    yield ")"


def _attribute(field: Field) -> str:
    return f"    {field.name}: {_hint(field)}"


def _hint(field: Field, event: str = "") -> str:
    said = f'Literal["{event}"]' if field.type is None else PYTHON.says(field.type)
    return f"NotRequired[{said}]" if field.optional else said


def _summary(kind: type[Event]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())
