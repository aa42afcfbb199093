"""Arguments with the numbers that somebody wrote: what a float cannot hold is refused, not rounded.

JSON's integers are of any size here: they can lose digits only where a parameter is a float.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import msgspec

from turnlog.events.nesting import is_too_deep

SHORT = 16  # characters of a number without an exponent that a float always holds
HELD = 2**53  # up to it floats hold every integer
NO_OBJECT = "The arguments were not a JSON object."
_rounding = msgspec.json.Decoder()
BIGGEST = int(sys.float_info.max)  # of a bigger one msgspec makes no float


def exact(text: str) -> float:
    """The number. Raises ValueError, in words for a model, where it would become another one."""
    value = float(text)
    if len(text) <= SHORT and "e" not in text.lower():
        return value
    try:  # some print all 17 digits that tell a float from its neighbours
        is_same = Decimal(text) in (Decimal(repr(value)), Decimal(f"{value:.17g}"))
    except InvalidOperation:  # an exponent beyond all bounds
        is_same = False
    if not is_same:
        written = text if len(text) <= 60 else f"{text[:60]}…"
        raise ValueError(
            f"The number {written} would be rounded to {value!r}: write it with at most 15 digits, "
            "or as a string if the tool takes one"
        )
    return value


@lru_cache(maxsize=64)
def decoder(kind: Any = Any) -> msgspec.json.Decoder[Any]:
    """Of JSON that holds arguments. Raises msgspec.ValidationError where `exact` raises: for the
    numbers of whatever has no type of its own, as arguments have none.
    """
    return msgspec.json.Decoder(kind, float_hook=exact)


def _plainly(text: str, decoder: msgspec.json.Decoder[Any]) -> Any:
    return decoder.decode(text)


def arguments(
    text: str, read: Callable[[str, msgspec.json.Decoder[Any]], Any] = _plainly
) -> tuple[dict[str, Any], str | None]:
    """What a model wrote for a tool, and why it cannot be run, if it cannot. With a number that
    would be rounded it is kept as others have it; what is no JSON object, or nested too deep to be
    read by everybody, is kept as an empty one.
    """
    value, why = None, None
    try:
        value = read(text, decoder())
    except msgspec.ValidationError as error:  # of a number: it is JSON
        why = f"{error}."
        with suppress(ValueError):  # of one beyond all floats
            value = read(text, _rounding)
    except (RecursionError, ValueError):
        pass
    if isinstance(value, dict) and not is_too_deep(value):
        return value, why
    return {}, why or NO_OBJECT


def decode(data: bytes | str, kind: Any) -> Any:
    return decoder(kind).decode(data)


def beyond_floats(value: Any) -> set[int]:
    """The integers in a JSON value that a float would round."""
    found = (each for each in _leaves(value) if type(each) is int and abs(each) > HELD)
    return {each for each in found if abs(each) <= BIGGEST and int(float(each)) != each}


def floats_in(value: Any) -> set[float]:
    return {each for each in _leaves(value) if type(each) is float}


def _leaves(value: Any) -> Iterator[Any]:
    left = [value]
    while left:
        match left.pop():
            case dict() as inner:
                left += inner.values()
            case list() | tuple() | set() | frozenset() as inner:
                left += inner
            case leaf:
                yield leaf
