"""An archive: contents of a session's log in one compressed file, JSON by the line.

The first line says whose log it is, and which seal comes before. Each other line is a row of the
log as it was, so that `zcat` shows it, and its seals are proven without the database.
"""

import gzip
import zlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from turnlog.events.rows.record import ERASED, Record

FORM = 1
_GZIP = 31  # zlib's word for the format
_HASHES = ("salt", "digest", "seal")


class Damaged(ValueError):
    """The file is not what was written."""


def pack(archive_id: str, user_id: str, before: bytes, rows: Sequence[Record]) -> tuple[bytes, int]:
    """The file, and how long it is when it is unpacked."""
    first = {
        "archive": FORM,
        "id": archive_id,
        "session_id": rows[0].session_id,
        "user_id": user_id,
        "before": before.hex(),
    }
    text = b"\n".join(map(msgspec.json.encode, [first, *map(_line, rows)]))
    return gzip.compress(text, mtime=0), len(text)


def unpack(packed: bytes, length: int, types: Collection[str] = ()) -> dict[int, bytes]:
    """The bodies by their numbers: all, or those of these types that users see.

    Raises Damaged, also where it would be longer.
    """
    try:
        text = zlib.decompressobj(_GZIP).decompress(packed, length + 1)
        if len(text) != length:
            raise Damaged(f"It has {len(text)} bytes or more, and had {length}.")
        first, *rows = map(msgspec.json.decode, text.split(b"\n"))
        if first["archive"] != FORM:
            raise Damaged(f"It has the form {first['archive']!r}.")
        if types:
            rows = [row for row in rows if row["type"] in types and not row["is_internal"]]
        return {row["seq"]: row["body"].encode() for row in rows}
    except (zlib.error, msgspec.DecodeError, KeyError, TypeError) as error:
        raise Damaged(str(error)) from error


def _line(row: Record) -> dict[str, Any]:
    values = row._asdict() | {"body": (row.body or ERASED).decode()}
    return values | {name: values[name] and values[name].hex() for name in _HASHES}
