"""The values in a piece of JSON, by their paths, block by block.

A path is made of names and `[]`; a group is all values of one path that belong to one content
block (or to none), in order.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
BLOCKS = ("message.blocks", "message_start.message.content")  # lists whose places are blocks
_UPPER = re.compile(r"(?<=[a-z0-9])([A-Z])")


class Place(NamedTuple):
    """Which field, of which content block (None: of the message)."""

    block: int | None
    path: str

    @property
    def name(self) -> str:
        """The last name of the path, as snake_case."""
        name = self.path.rpartition(".")[2].replace("[]", "")
        return _UPPER.sub(r"_\1", name).lower()


Groups = dict[Place, list[Any]]


def raw_groups(events: Iterable[Json]) -> Groups:
    """The fields of the API's events, named by event and by type of block or delta."""
    groups: Groups = {}
    places: dict[int, int] = {}  # the API's index of a block: its place among the blocks
    for event in events:
        part = event.get("content_block") or event.get("delta") or {}
        kind = event["type"] + (f"({part['type']})" if "type" in part else "")
        if "index" in event:
            places.setdefault(event["index"], len(places))
        for number, _ in enumerate(event.get("message", {}).get("content") or ()):
            places[number] = number
        _add(groups, _walk(event, kind, places.get(event.get("index", -1))))
    return _with_arguments(groups)


def our_groups(events: Iterable[Json]) -> Groups:
    """The fields of our events, as the log or the wire has them."""
    groups: Groups = {}
    for event in events:
        _add(groups, _walk(event, event["type"], None))
    return groups


def _add(groups: Groups, found: Iterable[tuple[Place, Any]]) -> None:
    for place, value in found:
        groups.setdefault(place, []).append(value)


def _walk(value: Any, path: str, block: int | None) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict) and value:
        block = value.get("blockIndex", block)
        for name, each in value.items():
            yield from _walk(each, f"{path}.{name}", block)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _walk(each, f"{path}[]", number if path in BLOCKS else block)
    else:
        yield Place(block, path), value


def _with_arguments(groups: Groups) -> Groups:
    """A tool's arguments come as pieces of JSON: put together, they have fields too."""
    whole: Groups = {}
    for place, values in groups.items():
        if place.name != "partial_json":
            whole[place] = values
            continue
        text = "".join(values)
        try:
            arguments = json.loads(text) if text.strip() else {}
        except ValueError:
            arguments = text
        _add(whole, _walk(arguments, place.path, place.block))
    return whole
