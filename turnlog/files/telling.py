"""A file as content blocks of the Messages API, in the form that was decided for it."""

import asyncio
import base64
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from turnlog.errors import NotFound, TooMany, Unreadable
from turnlog.events.content import Block
from turnlog.files.library import FileLibrary
from turnlog.ports import File, Page, Part
from turnlog.ports.files import Form, Told
from turnlog.ports.storage.deposits import FileSource
from turnlog.projections.history.attachments import (
    MOST_PICTURES,
    MOST_TEXT,
    cut_off,
    lost,
    missing,
    named,
    shown_in_part,
)

_log = logging.getLogger(__name__)
MOST_KEPT = 64_000_000  # characters of blocks that are kept for the next call
NO_TEXT = "[This page has no text.]"
# How a file is told for once, where no reader has the time to make it.
PLAINER: dict[Form, Form] = {"large": "image", "pictures": "name"}
CITED = {"enabled": True}  # all documents of a request are cited, or none is


class Telling:
    """Makes the blocks, and remembers those that were made last."""

    def __init__(self, library: FileLibrary) -> None:
        self._library = library
        self._made: OrderedDict[tuple[str, str], list[Block]] = OrderedDict()
        self._size = 0

    async def get(self, user_id: str, file_id: str) -> File:
        return await self._library.get(user_id, file_id)

    async def pages(self, user_id: str, file_id: str, wanted: Sequence[int]) -> list[Page]:
        return await self._library.pages(user_id, file_id, wanted)

    async def blocks(self, user_id: str, told: Sequence[Told]) -> list[list[Block]]:
        """The blocks of each file. One that is deleted is told as that."""
        if not told:
            return []
        files = await self._library.get_all(user_id, [each.facts["id"] for each in told])
        return [await self._blocks(files.get(each.facts["id"]), each) for each in told]

    async def _blocks(self, file: File | None, told: Told) -> list[Block]:
        if file is None:
            return [_text(missing(told.facts))]
        try:
            if told.form == "name":
                return [_text(named(told.facts))]
            key = (file.id, f"{told.form} {told.facts['name']} {told.facts['sha256']}")
            if key not in self._made:
                self._keep(key, await self._make(file, told))
            self._made.move_to_end(key)
            return self._made[key]
        except NotFound:
            _log.warning("file %s has a row, and no content", file.id)
            return [_text(lost(told.facts))]
        except (Unreadable, TooMany):
            if told.form not in PLAINER:
                raise
            return await self._blocks(file, told._replace(form=PLAINER[told.form]))

    async def _make(self, file: File, told: Told) -> list[Block]:
        name = told.facts["name"]
        match told.form:
            case "image":
                data = await self._base64(file, "model")
                return [{"type": "image", "source": _source(file, "model", file.model_type, data)}]
            case "large":
                return await self._large(file)
            case "pictures":
                return await self._pictures(file, told)
            case "pdf":
                data = await self._base64(file, "original")
                return [_document(name, _source(file, "original", file.media_type, data))]
            case "pages":
                return self._pages(told, await self._library.first_pages(file, MOST_TEXT))
        pages = await self._library.first_pages(file, MOST_TEXT)
        if (file.pages or 1) > 1:
            return self._pages(told, pages)
        text = "".join(page.text for page in pages)[:MOST_TEXT] or "(empty)"
        document = _document(name, {"type": "text", "media_type": "text/plain", "data": text})
        is_cut = (file.text_length or 0) > MOST_TEXT
        return [document, *([_text(cut_off(told.facts, 1))] if is_cut else [])]

    def _pages(self, told: Told, pages: Sequence[Page]) -> list[Block]:
        """Page by page, so that the number of a block is that of its page."""
        content = [_text(page.text if page.text.strip() else NO_TEXT) for page in pages]
        document = _document(told.facts["name"], {"type": "content", "content": content})
        is_cut = len(pages) < told.facts.get("pages", 1)
        return [document, *([_text(cut_off(told.facts, len(pages)))] if is_cut else [])]

    async def _large(self, file: File) -> list[Block]:
        kind, content = await self._library.pictures.large(file)
        source = _source(file, "large", kind, await _encoded(content))
        return [{"type": "image", "source": source}]

    async def _pictures(self, file: File, told: Told) -> list[Block]:
        """The first pages of a scan, as a PDF that is small enough."""
        pages = file.pages or 1
        last = min(pages, MOST_PICTURES)
        data = await _encoded(await self._library.pictures.of_pages(file, last))
        source = _source(file, "pictures", file.media_type, data)
        document = _document(told.facts["name"], source)
        return [document, *([_text(shown_in_part(told.facts, last))] if pages > last else [])]

    async def _base64(self, file: File, part: Part) -> str:
        return await _encoded(await self._library.part(file, part))

    def _keep(self, key: tuple[str, str], blocks: list[Block]) -> None:
        self._size -= _size(self._made.pop(key, []))  # somebody else made it meanwhile
        self._made[key] = blocks
        self._size += _size(blocks)
        while self._size > MOST_KEPT and len(self._made) > 1:
            _, oldest = self._made.popitem(last=False)
            self._size -= _size(oldest)


async def _encoded(content: bytes) -> str:
    return (await asyncio.to_thread(base64.b64encode, content)).decode()


def _size(blocks: Sequence[Block]) -> int:
    """Roughly: text and data."""
    return sum(
        len(block.get("text", ""))
        + len(block.get("source", {}).get("data", ""))
        + sum(len(page["text"]) for page in block.get("source", {}).get("content", ()))
        for block in blocks
    )


def _source(file: File, part: Part, media_type: str, data: str) -> FileSource:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return FileSource(source, file.user_id, file.id, part)


def _document(title: str, source: dict[str, Any]) -> Block:
    return {"type": "document", "source": source, "title": title, "citations": CITED}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
