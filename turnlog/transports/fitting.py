"""Why a body or a query does not fit, with the names and the values that would."""

import re
from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import inspect

from turnlog.errors import BadInput, did_you_mean

# msgspec's own words for what is wrong with a field at the top
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`")
_NO_CHOICE = re.compile(r"Invalid enum value .+ - at `\$\.(\w+)`", re.DOTALL)


def misfit(error: Exception, kind: Any) -> str:
    """The error of a decoder in a sentence: with the nearest field, or the allowed values."""
    problem = f"{error}."
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return problem
    if unknown := _UNKNOWN.fullmatch(str(error)):
        known = kind.__struct_encode_fields__
        return f"{problem}{did_you_mean(unknown[1], known)} There are: {', '.join(known)}."
    if choice := _NO_CHOICE.fullmatch(str(error)):
        return f"{problem}{_allowed(kind, choice[1])}"
    return problem


def refuse_misspelt(names: Collection[str], known: Collection[str]) -> None:
    """Raises BadInput for a query parameter that is nearly one of the route's.

    Whatever is like none of them may be a proxy's or a browser's, and is left alone.
    """
    for name in names:
        hint = "" if name in known else did_you_mean(name, known)
        if hint:
            raise BadInput(f"There is no query parameter {name!r} here.{hint}")


def _allowed(kind: type[msgspec.Struct], name: str) -> str:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    if name not in fields:
        return ""
    known = inspect.type_info(fields[name])
    kinds = known.types if isinstance(known, inspect.UnionType) else (known,)
    values = [value for each in kinds for value in getattr(each, "values", ())]
    return f" Allowed are: {', '.join(map(repr, values))}." if values else ""
