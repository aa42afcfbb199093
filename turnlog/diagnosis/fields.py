"""The values of JSON events, grouped by field and by content block.

A path consists of names and `[]`. A group holds all values of one path in one content block (or in
none), in order.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
BLOCKS = ("message.blocks", "message_start.message.content")  # lists whose positions are blocks
_UPPER = re.compile(r"(?<=[a-z0-9])([A-Z])")


class Field(NamedTuple):
    """A field of a content block, or of the message if `block` is None."""

    block: int | None
    path: str

    @property
    def name(self) -> str:
        """The last name of the path, as snake_case."""
        name = self.path.rpartition(".")[2].replace("[]", "")
        return _UPPER.sub(r"_\1", name).lower()


Groups = dict[Field, list[Any]]


def raw_groups(events: Iterable[Json]) -> Groups:
    """The fields of the API's events, named by event and by type of block or delta."""
    groups: Groups = {}
    positions: dict[int, int] = {}  # the API's index of a block -> its position among the blocks
    for event in events:
        part = event.get("content_block") or event.get("delta") or {}
        kind = event["type"] + (f"({part['type']})" if "type" in part else "")
        if "index" in event:
            positions.setdefault(event["index"], len(positions))
        for number, _ in enumerate(event.get("message", {}).get("content") or ()):
            positions[number] = number
        _add(groups, _walk(event, kind, positions.get(event.get("index", -1))))
    return _with_arguments(groups)


def our_groups(events: Iterable[Json]) -> Groups:
    """The fields of our events, as the log or the wire has them."""
    groups: Groups = {}
    for event in events:
        _add(groups, _walk(event, event["type"], None))
    return groups


def _add(groups: Groups, values: Iterable[tuple[Field, Any]]) -> None:
    for field, value in values:
        groups.setdefault(field, []).append(value)


def _walk(value: Any, path: str, block: int | None) -> Iterator[tuple[Field, Any]]:
    if isinstance(value, dict) and value:
        block = value.get("blockIndex", block)
        for name, each in value.items():
            yield from _walk(each, f"{path}.{name}", block)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _walk(each, f"{path}[]", number if path in BLOCKS else block)
    else:
        yield Field(block, path), value


def _with_arguments(groups: Groups) -> Groups:
    """The groups with the fields of tool arguments, which arrive as pieces of JSON."""
    whole: Groups = {}
    for field, values in groups.items():
        if field.name != "partial_json":
            whole[field] = values
            continue
        text = "".join(values)
        try:
            arguments = json.loads(text) if text.strip() else {}
        except ValueError:
            arguments = text
        _add(whole, _walk(arguments, field.path, field.block))
    return whole
