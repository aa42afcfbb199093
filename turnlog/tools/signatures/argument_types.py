"""What JSON Schema does not tell of the types of a function's arguments.

A type that is a list outside has no names there, and a field may have another name outside
than inside. The server fills by name, so both must be known when a tool is made.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from turnlog.tools.signatures import hints


def positional(types: Sequence[inspect.Type]) -> Iterator[tuple[str, str]]:
    """(type, field) of everything that is set by its place in a list."""
    for each in types:
        is_list = isinstance(each, inspect.NamedTupleType) or getattr(each, "array_like", False)
        if is_list and hasattr(each, "fields"):
            yield from ((_name(each), field.name) for field in each.fields)
        if isinstance(each, inspect.CustomType):
            yield from hints.listed_fields(each.cls)


def renamed(types: Sequence[inspect.Type]) -> Iterator[tuple[str, str, str]]:
    """(type, field, its name outside) of everything that is called otherwise outside."""
    for each in types:
        for field in getattr(each, "fields", ()):
            if field.name != field.encode_name:
                yield _name(each), field.name, field.encode_name
        if isinstance(each, inspect.CustomType):
            yield from hints.renamed_fields(each.cls)


def types_of(arguments: type[msgspec.Struct] | None) -> list[inspect.Type]:
    """Every type that the arguments are made of, once."""
    waiting: list[Any] = [inspect.type_info(arguments)]
    seen: set[int] = set()
    types: list[inspect.Type] = []
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple | list):
            waiting += each
        elif isinstance(each, msgspec.Struct) and id(each) not in seen:
            seen.add(id(each))
            if isinstance(each, inspect.Type):
                types.append(each)
            waiting += [getattr(each, name) for name in each.__struct_fields__]
    return types


def _name(each: Any) -> str:
    return str(getattr(each.cls, "__name__", each.cls))
