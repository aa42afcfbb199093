"""How much memory values take: of events, and of messages that are told."""

from collections.abc import Iterable
from sys import getsizeof
from typing import Any

import msgspec


def bytes_of(values: Iterable[Any]) -> int:
    """All that these hold: a text by the width of its letters. What two of them share counts
    twice; the keys of dictionaries do not count, because the decoder shares them.
    """
    total, left = 0, [*values]
    while left:
        value = left.pop()
        total += getsizeof(value)
        if isinstance(value, str):
            continue
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, msgspec.Struct):
            left += [getattr(value, name) for name in value.__struct_fields__]
    return total
