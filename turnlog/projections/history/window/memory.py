"""How much memory values take: an estimate, from the lengths of texts and a few constants.

A text counts by the width of its letters, and so does each value inside of other values; only
what all messages and entries have is not counted one by one. What two values share counts twice,
and the keys of dictionaries do not count, because the decoder shares them.
"""

from collections.abc import Iterable, Sequence
from sys import getsizeof
from typing import Any

import msgspec
from msgspec.structs import astuple

from turnlog.events.base import Stamped

# Bytes of the dictionaries, the list and the references that a message and each block have.
OF_A_MESSAGE, OF_A_BLOCK = 300, 240
HOLD_NOTHING = (str, int, float, bool, type(None))  # most values of JSON
OF_AN_ENTRY = 1_200  # bytes of an event and its envelope: ids, times, fields that are empty


def bytes_told(messages: Iterable[dict[str, Any]]) -> int:
    """Of messages as a model is told them."""
    total = 0
    for message in messages:
        total += OF_A_MESSAGE
        for block in message["content"]:
            total += OF_A_BLOCK + _of_fields(block.values())
    return total


def bytes_kept(entries: Iterable[Stamped]) -> int:
    """Of events."""
    total = 0
    for entry in entries:
        total += OF_AN_ENTRY + _of_fields(astuple(entry.envelope.event))
    return total


def _of_fields(values: Iterable[Any]) -> int:
    total = 0
    for value in values:
        if type(value) is str:
            total += getsizeof(value)
        elif value:
            total += bytes_of((value,))
    return total


def bytes_of(values: Sequence[Any]) -> int:
    """Of these and all that they hold."""
    total, left = 0, [*values]
    while left:
        value = left.pop()
        total += getsizeof(value)
        if type(value) in HOLD_NOTHING:
            continue
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, msgspec.Struct):
            left += astuple(value)
    return total
