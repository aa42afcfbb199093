"""How much memory values take: of events, and of messages that are told."""

from collections.abc import Iterable
from sys import getsizeof
from typing import Any

import msgspec
from msgspec.structs import astuple

_ALONE = (str, int, type(None))  # most values: they hold no others


def bytes_of(values: Iterable[Any]) -> int:
    """All that these hold: a text by the width of its letters. What two of them share counts
    twice; the keys of dictionaries do not count, because the decoder shares them.
    """
    total, left = 0, [*values]
    while left:
        value = left.pop()
        total += getsizeof(value)
        if isinstance(value, _ALONE):
            continue
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value
        elif isinstance(value, msgspec.Struct):
            left += astuple(value)
    return total
