"""What a client sent, read by rules that expect its protocol: anything else is its mistake."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import msgspec

from turnlog.errors import BadInput
from turnlog.events.nesting import is_too_deep

P = ParamSpec("P")
T = TypeVar("T")


def understood(read: Callable[P, T]) -> Callable[P, T]:
    """For functions that read a body and do nothing else. Raises BadInput for another form."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            raise BadInput("The body does not have the form that this protocol has.") from None

    return reading


def value_of(content: Any) -> Any:
    """What a tool of the client gave: the JSON that a text is, or the text."""
    try:
        value = msgspec.json.decode(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content
    return content if is_too_deep(value) else value
