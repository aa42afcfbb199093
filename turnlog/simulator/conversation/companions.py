"""Arguments that come with a record: its etag, its present name, the total that is confirmed.

Tools ask for them so that what a person allows is what is done; the user never says them.
"""

import re
from collections.abc import Generator
from typing import Any

from ..script import Json
from .plans import Batch, Desk, Wanted
from .records import Record
from .schema import words_of
from .talk import Done
from .toolbox import Tool, getter

_FRESH = re.compile(r"etag|version|revision", re.I)
_PREFIX = re.compile(r"^(current|present|old|expected|existing)\s+")


def bring_along(
    tool: Tool, found: Json, picked: dict[str, Record], desk: Desk
) -> Generator[Batch, list[Done], None]:
    """Fill what is required and stands in the picked records; one is read anew if need be."""
    missing = [n for n in tool.required if n not in found and tool.kind(n) in ("text", "number")]
    for noun, record in list(picked.items()):
        values = {name: companion(record, name, noun) for name in missing}
        is_fresh = any(record is read for read in desk.fresh)
        if any(_is_needed(name, values[name], noun, tool, is_fresh) for name in missing):
            record = (yield from _read_again(noun, record, desk)) or record
            values = {name: companion(record, name, noun) for name in missing}
        found.update({name: value for name, value in values.items() if value is not None})
        missing = [name for name in missing if name not in found]


def _is_needed(name: str, value: Any, noun: str, tool: Tool, is_fresh: bool) -> bool:
    """An etag must be the newest one; anything else only has to be there."""
    belongs = noun == tool.head or noun in words_of(name).split()
    return belongs and not is_fresh and (value is None or bool(_FRESH.search(name)))


def _read_again(
    noun: str, record: Record, desk: Desk
) -> Generator[Batch, list[Done], Record | None]:
    tool = getter(desk.tools, noun)
    if tool is None:
        return None
    key = tool.required[0]
    says = f"Let me read the {tool.label} first."
    thinks = f"I need its present state before I change it, so I call {tool.name}."
    (done,) = yield Batch((Wanted(tool.name, {key: record.field(key)}),), says, thinks)
    read = desk.known.add(done, noun)
    return read[0] if len(read) == 1 else None


def companion(record: Record, name: str, noun: str) -> Any:
    """The field of the record that a parameter asks for: all words of the one are in the other."""
    words = _PREFIX.sub("", words_of(name)).split()
    own = [word for word in words if word != noun] if noun in words else words
    if own == ["name"] and (noun in words or _PREFIX.match(words_of(name))):
        return record.title or None
    for wanted in (words, own):
        for key, value in record.fields.items():
            if wanted and set(wanted) <= set(words_of(key).split()) and _is_plain(value):
                return value
    return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
