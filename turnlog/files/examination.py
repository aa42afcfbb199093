"""Whether every file is whole: its bytes are there, and are the ones that its row tells of."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable
from hashlib import sha256
from typing import Any

from turnlog.errors import NotFound, NotStored
from turnlog.files.sweep import ABANDONED, every_file, place_of
from turnlog.ports import Blobs, File, FileTable, Part
from turnlog.ports.files import Chunks

_log = logging.getLogger(__name__)
# What a file of each kind has beside its original.
MADE: dict[str, Part] = {"image": "model", "pdf": "text", "document": "text"}


async def examine(table: FileTable, blobs: Blobs) -> AsyncIterator[str]:
    """What is wrong, one sentence each. Reads every byte."""
    async for problem in examine_bytes(table, blobs):
        yield problem
    known = {place_of(file) async for file in every_file(table)}
    async for stored in blobs.every():
        if stored.place not in known and stored.seconds > ABANDONED:
            yield f"bytes of {stored.place.partition('/')[2][:16]}… belong to no file"


async def examine_bytes(table: FileTable, blobs: Blobs) -> AsyncIterator[str]:
    """The same, without a look at bytes that belong to no file."""
    async for file in every_file(table):
        if not file.deleted:
            async for problem in _problems(file, blobs):
                yield f"file {file.id}: {problem}"


async def examine_attached(
    facts: Iterable[dict[str, Any]], user_id: str, table: FileTable, blobs: Blobs
) -> AsyncIterator[str]:
    """The same of the files that a session names; one that its user has deleted is no flaw."""
    for attached in {each["id"]: each for each in facts}.values():
        try:
            file = await table.get(user_id, attached["id"])
        except NotFound:
            continue
        if (file.sha256, file.size) != (attached["sha256"], attached["size"]):
            yield f"file {file.id}: it is not the one that the log names"
        async for problem in _problems(file, blobs):
            yield f"file {file.id}: {problem}"


async def unchanged(file: File, chunks: Chunks) -> Chunks:
    """All bytes of the file; the last ones come once it is clear that they are what was uploaded.

    Raises NotFound in their place: whoever got the others has no whole file, and is told so by its
    length.
    """
    digest, last = sha256(), b""
    async for chunk in chunks:
        if last:
            yield last
        await asyncio.to_thread(digest.update, chunk)
        last = chunk
    if digest.hexdigest() != file.sha256:
        _log.error("the bytes of file %s are not what was uploaded", file.id)
        raise NotFound("The content of this file is damaged.")
    yield last


async def _problems(file: File, blobs: Blobs) -> AsyncIterator[str]:
    parts: Collection[Part] = ("original", MADE[file.kind])
    missing = [part for part in parts if not await blobs.has(place_of(file), part)]
    for part in missing:
        yield f"its part {part!r} is missing"
    if "original" in missing:
        return
    digest, size = sha256(), 0
    try:
        async for chunk in blobs.stream(place_of(file), "original"):
            await asyncio.to_thread(digest.update, chunk)
            size += len(chunk)
    except NotStored as error:
        yield f"its bytes cannot be read ({error.__cause__})"
        return
    if size != file.size or digest.hexdigest() != file.sha256:
        yield "its bytes are not what was uploaded"
