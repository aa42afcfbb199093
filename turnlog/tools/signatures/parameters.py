"""The parameters of a function as a struct, which checks what a model gives for them."""

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any, get_type_hints

import msgspec

from turnlog.tools.signatures import declaration, hints


def hints_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"tool {name!r}: a type hint cannot be read: {error}. Types of hints that are text must"
            " be defined at the top of the module."
        ) from None


def struct_of(
    function: Callable[..., Any], name: str, typed: dict[str, Any], hidden: tuple[str, ...]
) -> type[msgspec.Struct]:
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: {str(parameter)!r} cannot be given by name")
        if parameter.name in hidden:
            continue
        if parameter.name not in typed:
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} needs a type hint")
        hint, value = hints.field_of(typed[parameter.name], parameter.default)
        where = f"tool {name!r}: parameter {parameter.name!r}"
        default = () if value is parameter.empty else (value,)
        kind = hints.checkable(hint, where)
        if default:
            declaration.check_default(kind, value, where)
        fields.append((parameter.name, kind, *_fresh(default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _fresh(default: tuple[Any, ...]) -> tuple[Any, ...]:
    """A mutable default is copied for each call; also one that only pydantic knows."""
    value = default[0] if default else None
    if (isinstance(value, list | dict | set) and value) or hints.is_model(type(value)):
        return (msgspec.field(default_factory=lambda: deepcopy(value)),)
    return default
