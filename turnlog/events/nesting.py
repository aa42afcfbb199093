"""How deep JSON may be nested that becomes a part of an event.

How much can be read depends on Python's version and on who calls: what one process has just been
able to write, another cannot read, and its session is lost to it.
"""

from typing import Any

DEEPEST = 200  # levels


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value has more levels. Not by recursion, whose end is what varies."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST):
        inner = [each.values() if type(each) is dict else each for each in level]
        level = [each for values in inner for each in values if type(each) in (dict, list)]
        if not level:
            return False
    return True
