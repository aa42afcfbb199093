"""Type hints as people write them: what checks a parameter, and what its schema is.

msgspec checks what it knows: structs, dataclasses, enums, TypedDicts, `Annotated[int, Meta(...)]`.
Whatever it does not know, pydantic checks as a whole parameter: its models, `Field(...)`, the
marks of `annotated_types`, validators, unions of several classes. A hint that neither can check
is refused when the tool is made. Nothing in a hint is ignored.
"""

import dataclasses
import inspect
import logging
from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from turnlog.events import numbers
from turnlog.events.nesting import DEEPEST, is_too_deep

_log = logging.getLogger(__name__)
_MADE_BY = ("pydantic", "pydantic_core", "annotated_types")
_NONE = type(None)


class Adapted:
    """A value that pydantic has checked. Each hint has a class of its own."""

    adapter: Any  # pydantic.TypeAdapter
    source: Any  # the hint

    def __init__(self, value: Any) -> None:
        self.value = value


def checkable(hint: Any, where: str) -> Any:
    """The hint as msgspec takes it. Raises TypeError with a sentence."""
    hint = _with_descriptions(hint, where)
    if not any(_is_of_pydantic(part) for part in _parts(hint)) and _fits_msgspec(hint):
        return hint
    return _adapted(hint, where)


def field_of(hint: Any, default: Any) -> tuple[Any, Any]:
    """`limit: int = Field(10, ge=1)`: the hint with its bounds, and the default alone."""
    if not _is_of_pydantic(default) or not hasattr(default, "is_required"):
        return hint, default
    bounds = Annotated[hint, default]
    if default.is_required():
        return bounds, inspect.Parameter.empty
    return bounds, default.get_default(call_default_factory=True, validated_data={})


def read(value: Any, hint: Any) -> Any:
    """JSON as a value of this type. Raises msgspec.ValidationError, in words for the model."""
    try:
        made = msgspec.convert(value, hint, dec_hook=_decode)
    except msgspec.ValidationError:
        raise
    except Exception as error:  # of a validator or a `__post_init__` that somebody wrote
        _log.warning("the check of a value failed", exc_info=True, extra={"own": True})
        raise msgspec.ValidationError(f"The check failed ({type(error).__name__})") from None
    if too_long := numbers.beyond_floats(value):
        _refuse_rounded(made, too_long)
    return made


def _refuse_rounded(made: Any, too_long: set[int]) -> None:
    """A parameter that is a float takes integers too, and would round them."""
    floats = numbers.floats_in(msgspec.to_builtins(made, enc_hook=encode))
    for number in too_long:
        if float(number) in floats:
            raise msgspec.ValidationError(
                f"The number {number} would be rounded to {float(number)!r}"
            )


def _decode(kind: type, value: Any) -> Any:
    """msgspec's hook for what it does not know. Raises ValueError, in words for the model."""
    if not issubclass(kind, Adapted):
        raise TypeError(f"{kind.__name__} cannot be read")
    from pydantic import ValidationError

    try:
        return kind(kind.adapter.validate_python(value))
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None


def bare(value: Any) -> Any:
    """What the function is called with."""
    return value.value if isinstance(value, Adapted) else value


def encode(value: Any) -> Any:
    """msgspec's hook for values that it does not know. Raises NotImplementedError."""
    if isinstance(value, Adapted):
        return value.adapter.dump_python(value.value, mode="json", by_alias=True)
    if is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def plain(value: Any) -> Any:
    """What JSON makes of it, so that live and reloaded are the same. Raises whatever the value's
    own methods raise, and ValueError where it is nested too deep to be read by everybody.
    """
    made = msgspec.json.decode(msgspec.json.encode(value, enc_hook=encode))
    if is_too_deep(made):
        raise ValueError(f"it is nested deeper than {DEEPEST} levels")
    return made


def schema_of_adapted(kind: type) -> dict[str, Any]:
    """msgspec's hook for the schema of what it does not know."""
    if issubclass(kind, Adapted):
        schema: dict[str, Any] = kind.adapter.json_schema(ref_template="#/$defs/{model}")
        return schema
    if is_model(kind):
        model: dict[str, Any] = kind.model_json_schema(  # type: ignore[attr-defined]  # pydantic's
            mode="serialization", ref_template="#/$defs/{model}"
        )
        return model
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise NotImplementedError(kind.__name__)


def check_result(hint: Any, tool_name: str) -> None:
    """Raises TypeError for a result that cannot become JSON: better now than after a write."""
    if hint in (Any, object, None, _NONE, inspect.Parameter.empty):
        return
    try:
        msgspec.json.schema(hint, schema_hook=schema_of_adapted)
    except (TypeError, NotImplementedError, RecursionError) as error:
        raise TypeError(
            f"tool {tool_name!r} returns {_name(hint)}, which cannot become JSON. Return text, a"
            f" number, a list, a dict, a dataclass, a Struct or a pydantic model. ({error})"
        ) from None


def renamed_fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """(type, field, its name outside) of every pydantic field that is called otherwise outside."""
    if not issubclass(kind, Adapted):
        return
    for part in _parts(kind.source):
        for name, info in (getattr(part, "model_fields", None) or {}).items():
            for alias in _aliases(info):
                if alias != name:
                    yield part.__name__, name, alias


def listed_fields(kind: type) -> Iterator[tuple[str, str]]:
    """(type, field) of every field in a pydantic hint that is set by its place in a list."""
    if issubclass(kind, Adapted):
        for part in _parts(kind.source):
            for name in getattr(part, "_fields", ()) if isinstance(part, type) else ():
                yield part.__name__, name


def _aliases(info: Any) -> list[str]:
    alias = info.validation_alias or info.alias
    choices = getattr(alias, "choices", [alias])
    paths = [getattr(each, "path", [each]) for each in choices if each is not None]
    return [str(path[0]) for path in paths]


# inside


def _adapted(hint: Any, where: str) -> Any:
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
    from pydantic.errors import PydanticInvalidForJsonSchema

    source = _without_meta(hint)
    try:
        adapter = TypeAdapter(source)
        adapter.json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as no:
        why = str(no).strip().partition("\n")[0]
        raise TypeError(
            f"{where} has the type {_name(hint)}, which has no JSON schema. Use text, numbers,"
            f" lists, an enum, a dataclass, a Struct or a pydantic model. ({why})"
        ) from None
    made: Any = type(_name(hint), (Adapted,), {"adapter": adapter, "source": source})
    return made | None if _NONE in get_args(source) else made


def _with_descriptions(hint: Any, where: str) -> Any:
    """`Annotated[str, "What it is"]` and `Doc` become a description; unknown marks are refused."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *marks = get_args(hint)
    kept: list[Any] = []
    for mark in marks:
        text = mark if isinstance(mark, str) else getattr(mark, "documentation", None)
        if isinstance(text, str):
            kept.append(msgspec.Meta(description=text))
        elif isinstance(mark, msgspec.Meta) or _is_of_pydantic(mark):
            kept.append(mark)
        else:
            raise TypeError(
                f"{where} is annotated with {mark!r}, which nobody reads here. Use"
                " msgspec.Meta(...), pydantic.Field(...) or a text that describes it."
            )
    return Annotated[inner, *kept]


def _without_meta(hint: Any) -> Any:
    """For pydantic: msgspec's marks in its own words."""
    if get_origin(hint) is not Annotated:
        return hint
    from pydantic import Field

    inner, *marks = get_args(hint)
    names = ("ge", "gt", "le", "lt", "multiple_of", "pattern", "min_length", "max_length",
             "title", "description", "examples")  # fmt: skip
    translated = [
        Field(**{n: v for n in names if (v := getattr(mark, n)) is not None})
        if isinstance(mark, msgspec.Meta)
        else mark
        for mark in marks
    ]
    return Annotated[inner, *translated]


def _fits_msgspec(hint: Any) -> bool:
    try:
        msgspec.json.schema(hint)
        msgspec.json.Decoder(hint)
    except (TypeError, RecursionError):
        return False
    return True


def _parts(hint: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The hint, and every type and mark that it is made of."""
    seen = set() if seen is None else seen
    if id(hint) in seen:
        return
    seen.add(id(hint))
    yield hint
    for part in get_args(hint):
        yield from _parts(part, seen)
    for part in _field_hints(hint):
        yield from _parts(part, seen)


def _field_hints(kind: Any) -> list[Any]:
    """What the fields of a class are, where it has fields."""
    if not isinstance(kind, type):
        return []
    has_fields = (
        dataclasses.is_dataclass(kind)
        or issubclass(kind, msgspec.Struct)
        or hasattr(kind, "_fields")
        or (issubclass(kind, dict) and hasattr(kind, "__total__"))
        or is_model(kind)
    )
    if not has_fields:
        return []
    try:
        return list(get_type_hints(kind, include_extras=True).values())
    except NameError:  # it is found out by whoever checks it
        return []


def _is_of_pydantic(part: Any) -> bool:
    kind = part if isinstance(part, type) else type(part)
    made_by = getattr(kind, "__module__", "").partition(".")[0]
    return made_by in _MADE_BY or (isinstance(part, type) and is_model(part))


def is_model(kind: type) -> bool:
    """Without an import: whoever has a model has imported pydantic."""
    return any(
        base.__module__.partition(".")[0] == "pydantic" and base.__name__ == "BaseModel"
        for base in kind.__mro__
    )


def _in_words(error: Any) -> str:
    found = error.errors(include_url=False, include_input=False)[:5]
    places = [".".join(map(str, each["loc"])) for each in found]
    pairs = zip(places, found, strict=True)
    return "; ".join(f"{place}: {each['msg']}" if place else each["msg"] for place, each in pairs)


def _name(hint: Any) -> str:
    return str(getattr(hint, "__name__", None) or str(hint).replace("typing.", ""))
