"""What a tool has found, in a form that the model can cite.

A tool that returns `SearchResults` gives the model each result as a source of its own: what the
answer rests on comes back as citations, with the source, the title and the words.
"""

from typing import Any

import msgspec

from turnlog.events.content import Block


class SearchResult(msgspec.Struct, frozen=True):
    """One source: where it is, what it is called, and its texts, each of which can be cited."""

    source: str
    title: str
    content: list[str]


class SearchResults(msgspec.Struct, frozen=True, tag_field="type", tag="search_results"):
    """What a tool returns, best first."""

    results: list[SearchResult]


def blocks_of(result: Any, most: int) -> list[Block] | None:
    """The blocks that the model is told, of `most` characters in all; None: no search results."""
    if not isinstance(result, dict) or result.get("type") != "search_results":
        return None
    try:
        search = msgspec.convert(result, SearchResults)
    except msgspec.ValidationError:
        return None
    blocks: list[Block] = []
    for each in search.results:
        texts = [text for text in each.content if text.strip()]
        most -= sum(map(len, texts))
        if most < 0:
            break
        if texts:
            blocks.append(_block(each, texts))
    return blocks or [{"type": "text", "text": "Nothing was found."}]


def _block(result: SearchResult, texts: list[str]) -> Block:
    return {
        "type": "search_result",
        "source": result.source,
        "title": result.title,
        "content": [{"type": "text", "text": text} for text in texts],
        "citations": {"enabled": True},
    }
