"""Documents and search results as passages: a piece of their text, and the citation for it.

`cited_text` is exactly the source's text, and the positions are those of the API: characters and
blocks from 0, pages from 1, the end exclusive.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..script import Json
from .talk import text_of

MOST_PAGES = 100
# A sentence, and the white space behind it: recorded citations end where the next one begins.
SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?]+(?=\s|$)|\n+|$|[.!?])[ \t]*\n*", re.M)


@dataclass(frozen=True)
class Passage:
    """A piece of a source."""

    text: str
    citation: Json
    cites: bool  # whether the request wants citations from this source
    title: str


def passages(body: Json) -> list[Passage]:
    """Every passage of every document and search result of the request, in order."""
    found: list[Passage] = []
    indexes = {"document": 0, "search_result": 0}
    for block in _sources(body):
        kind = block["type"]
        found += _of_block(block, indexes[kind])
        indexes[kind] += 1
    return found


def unreadable(body: Json) -> list[str]:
    """The titles of documents whose text cannot be had here."""
    return [title_of(block) for block in _sources(body) if not _of_block(block, 0)]


def title_of(block: Json) -> str:
    return str(block.get("title") or "the document")


def _sources(body: Json) -> Iterator[Json]:
    for message in body["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else ():
            inner = block.get("content") if block["type"] == "tool_result" else None
            for one in (block, *(inner if isinstance(inner, list) else ())):
                if one.get("type") in ("document", "search_result"):
                    yield one


def _of_block(block: Json, index: int) -> list[Passage]:
    cites = bool((block.get("citations") or {}).get("enabled"))
    title = title_of(block)
    if block["type"] == "search_result":
        return [Passage(t, c, cites, title) for t, c in _search_result(block, index)]
    place = {"document_index": index, "document_title": block.get("title")}
    located = _located(block.get("source") or {})
    return [
        Passage(
            text, {"type": where.pop("type"), "cited_text": text, **place, **where}, cites, title
        )
        for text, where in located
    ]


def _located(source: Json) -> Iterator[tuple[str, Json]]:
    match source.get("type"):
        case "text":
            yield from _characters(str(source.get("data") or ""))
        case "content":
            yield from _content_blocks(source.get("content"))
        case "base64":
            yield from _pages(str(source.get("data") or ""))


def sentences(text: str) -> Iterator[tuple[int, int]]:
    for found in SENTENCE.finditer(text):
        if found[0].strip():
            yield found.span()


def _characters(text: str) -> Iterator[tuple[str, Json]]:
    for start, end in sentences(text):
        where = {"type": "char_location", "start_char_index": start, "end_char_index": end}
        yield text[start:end], where


def _content_blocks(content: Any) -> Iterator[tuple[str, Json]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for at, block in enumerate(blocks):
        if block.get("type") == "text" and block.get("text"):
            where = {"type": "content_block_location", "start_block_index": at}
            yield block["text"], where | {"end_block_index": at + 1}


def _pages(data: str) -> Iterator[tuple[str, Json]]:
    for number, text in enumerate(page_texts(data), 1):
        for start, end in sentences(text):
            where = {"type": "page_location", "start_page_number": number}
            yield text[start:end], where | {"end_page_number": number + 1}


@lru_cache(maxsize=8)
def page_texts(data: str) -> tuple[str, ...]:
    """The text of each page. Empty when the library is not installed or the file is no PDF:
    then nothing is cited, because a citation must hold the source's own words."""
    try:
        import pypdfium2  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return ()
    try:
        document = pypdfium2.PdfDocument(base64.b64decode(data))
    except (pypdfium2.PdfiumError, binascii.Error, ValueError):
        return ()
    with document:
        pages = range(min(len(document), MOST_PAGES))
        return tuple(document[at].get_textpage().get_text_bounded() for at in pages)


def _search_result(block: Json, index: int) -> Iterator[tuple[str, Json]]:
    for at, part in enumerate(block.get("content") or ()):
        text = text_of([part])
        if text.strip():
            yield (
                text,
                {
                    "type": "search_result_location",
                    "cited_text": text,
                    "source": block.get("source"),
                    "title": block.get("title"),
                    "search_result_index": index,
                    "start_block_index": at,
                    "end_block_index": at + 1,
                },
            )
