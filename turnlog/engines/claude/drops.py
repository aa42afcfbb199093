"""What the API sends and we do not keep: one table, with a reason for each row.

The tests and `turnlog diagnose compare` read it: whatever else is lost is a fault. A path is
the type of the event, in brackets that of its block or delta, then the names down to the
value; `*` stands for anything.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Values of one field that are not where we keep things."""

    path: str
    values: Sequence[Any]
    later: Collection[str] = ()  # paths that came after it in the same answer
    cut: bool = False  # the answer never ended
    restarted: bool = False  # it was begun again after this
    again: bool = False  # it had been begun before this
    repeated: bool = False  # the values had come before


When = Callable[[Lost], bool]


@dataclass(frozen=True)
class Drop:
    """One row: which field, why it is dropped, and on which condition (none: always)."""

    path: str
    reason: str
    when: When | None = None


def _says_nothing(lost: Lost) -> bool:
    return all(value is None or value in ("", [], {}) for value in lost.values)


def _names_it(lost: Lost) -> bool:
    return lost.path.count(".") == 1 or lost.path.endswith(".delta.type")


def _replaced(lost: Lost) -> bool:
    return lost.path.replace("message_start.message.", "message_delta.") in lost.later


def _fell_back(lost: Lost) -> bool:
    return any(path.startswith("content_block_start(fallback)") for path in lost.later)


def _restarted(lost: Lost) -> bool:
    return lost.restarted


def _again(lost: Lost) -> bool:
    return lost.again


def _repeated(lost: Lost) -> bool:
    return lost.repeated


def _cut(lost: Lost) -> bool:
    return lost.cut


_HINT = "content_block_delta(thinking_delta).delta.estimated_tokens"
_MESSAGE_ID = "message_start.message.id"
_TOOL_ID = "content_block_start(tool_use).content_block.id"
# The first row that fits gives the reason.
DROPS: tuple[Drop, ...] = (
    Drop("ping.*", "a sign of life, without content"),
    Drop("*.type", "names an event or a delta; a block keeps its own", _names_it),
    Drop("*.index", "is the block's place in the kept message"),
    Drop("*", "null or empty: it says nothing, or is filled later", _says_nothing),
    Drop("message_start.message.usage.*", "message_delta replaces it: counts are total", _replaced),
    Drop("message_start.message.model", "a fallback block names who answered", _fell_back),
    Drop(_HINT, "a coarse hint for a progress bar; usage has the count"),
    Drop(_TOOL_ID, "came before: it would pair two calls, and gets one of ours", _repeated),
    Drop(_MESSAGE_ID, "came before: it would name two answers, and gets one of ours", _repeated),
    Drop(_MESSAGE_ID, "begun again: the answer keeps the id that its first piece had", _again),
    Drop("error.*", "may name accounts or keys: it is in the server's log"),
    Drop("*", "the message was begun again: what came before is void", _restarted),
    Drop("*", "the answer was cut: only what was shown is kept", _cut),
)
# The fields of deltas among them, for the reader of the stream: (type, name).
_DELTA_FIELD = re.compile(r"content_block_delta\((\w+)\)\.delta\.(\w+)")
DELTA_FIELDS = {found.groups() for drop in DROPS if (found := _DELTA_FIELD.fullmatch(drop.path))}


def reason(lost: Lost) -> str | None:
    """Why this may be lost; None when it may not."""
    for drop in DROPS:
        if fnmatchcase(lost.path, drop.path) and (drop.when is None or drop.when(lost)):
            return drop.reason
    return None
