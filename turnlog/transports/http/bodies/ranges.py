"""A part of a file, as RFC 9110 has it: `Range: bytes=0-99`, with `If-Range` and the file's etag.

One range is given. Where a request has several, or one that is not understood, the whole file is
the answer, which the RFC allows: section 14.2.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_ONE = re.compile(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})", re.IGNORECASE)


class Slice(NamedTuple):
    """Bytes of a file from `start` up to `end`, which is exclusive. An empty one is not there."""

    start: int
    end: int

    def told(self, size: int) -> str:
        """`Content-Range`."""
        return f"bytes {self.start}-{self.end - 1}/{size}" if self else f"bytes */{size}"

    def __bool__(self) -> bool:
        return self.start < self.end


def wanted(headers: Mapping[str, str], etag: str, size: int) -> Slice | None:
    """The part that is asked for; None: the whole file. An empty one cannot be given."""
    span = _ONE.fullmatch(headers.get("range", "").strip())
    condition = headers.get("if-range")
    if span is None or (condition is not None and condition.strip() != etag):
        return None
    first, last = span[1], span[2]
    if first and last and int(first) > int(last):
        return None  # "an invalid range": section 14.1.1
    if first:
        return Slice(int(first), min(int(last) + 1, size) if last else size)
    return Slice(max(0, size - int(last)), size) if last else None


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the client has this content already: `If-None-Match`."""
    tags = headers.get("if-none-match", "")
    names = (each.strip().removeprefix("W/") for each in tags.split(","))
    return tags.strip() == "*" or etag in names
