"""Answers out of documents and search results: the passages that share most with the question.

`cited_text` is exactly the source's text, and the positions are those of the API: characters and
blocks from 0, pages from 1, the end exclusive.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..script import Block, Json, Text

MOST_PAGES, MOST_PASSAGES = 100, 3
# A sentence, and the white space behind it: recorded citations end where the next one begins.
SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?]+(?=\s|$)|\n+|$|[.!?])[ \t]*\n*", re.M)
OVERVIEW = re.compile(r"\b(summar\w+|overview|what is (?:this|in)|about|describe|read)\b", re.I)
DULL = re.compile(
    r"(?:an?|and|any|are|as|at|be|by|can|do|does|did|for|from|has|have|how|i|in|is|it|me|my|of|on|"
    r"or|our|please|say|tell|that|the|their|there|this|to|was|we|what|when|where|which|who|will|"
    r"with|you|your)"
)


class Passage(NamedTuple):
    """A piece of a source, and the citation for it, if the request wants one."""

    title: str
    text: str
    citations: tuple[Json, ...]


def answer(body: Json, question: str, is_certain: bool = False) -> list[Block]:
    """A text for each passage that answers. `is_certain`: only a good match, or nothing."""
    every = list(passages(body))
    best = _relevant(question, every, least=2 if is_certain else 1)
    if best or is_certain:
        return _cited(f"According to {_titles(best)}", best)
    if not every:
        titles = " and ".join(str(block.get("title") or "a document") for block in _sources(body))
        return [Text(f"I was given {titles}, but I cannot read any text in it, so I cite nothing.")]
    if OVERVIEW.search(question) or not content(question):
        return _cited(f"{_titles(every)} begins", every[:MOST_PASSAGES])
    return _cited(f"I find nothing about that in {_titles(every)}. It begins", every[:1])


def content(text: str) -> set[str]:
    """The words of a text that say something, in lower case and singular."""
    words = re.findall(r"[^\W_]+", text.lower())
    return {word.removesuffix("s") for word in words if not DULL.fullmatch(word)}


def sentences(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in SENTENCE.finditer(text) if match[0].strip()]


def _relevant(question: str, passages: Sequence[Passage], least: int) -> list[Passage]:
    """The best passages in the order of the text; rare words count more than common ones.

    At least one of them shares that many words with the question."""
    wanted = content(question)
    shared = [content(passage.text) & wanted for passage in passages]
    often = Counter(word for words in shared for word in words)
    scores = [sum(1 / often[word] for word in words) for words in shared]
    most = max(scores, default=0)
    if most == 0 or max(map(len, shared)) < min(least, len(wanted)):
        return []
    good = [at for at, score in enumerate(scores) if score >= most * 0.6]
    best = sorted(good, key=lambda at: -scores[at])[:MOST_PASSAGES]
    return [passages[at] for at in sorted(best)]


def _titles(passages: Sequence[Passage]) -> str:
    titles = dict.fromkeys(passage.title for passage in passages)
    return " and ".join(f"“{title}”" if title else "the document" for title in titles)


def _cited(opening: str, best: Sequence[Passage]) -> list[Block]:
    """Never a text of white space only: the API would refuse it when it comes back."""
    blocks: list[Block] = []
    for at, passage in enumerate(best):
        cited = Text(passage.text.strip(), passage.citations)
        blocks += [Text("\n- " if at else f"{opening}:\n\n- "), cited]
    return blocks


# --- passages ---


def _sources(body: Json) -> Iterator[Json]:
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            inner = block.get("content") if block["type"] == "tool_result" else None
            for one in (block, *(inner if isinstance(inner, list) else ())):
                if one.get("type") in ("document", "search_result"):
                    yield one


def passages(body: Json) -> Iterator[Passage]:
    """Every passage of every document and search result of the request, in order."""
    indexes = {"document": 0, "search_result": 0}
    for block in _sources(body):
        kind, title = block["type"], block.get("title")
        place: Json = {"document_index": indexes[kind], "document_title": title, "file_id": None}
        if kind == "search_result":
            place = {"search_result_index": indexes[kind], "title": title}
            place["source"] = block.get("source")
        indexes[kind] += 1
        is_cited = bool((block.get("citations") or {}).get("enabled"))
        for text, where in _located(block):
            citation = {"cited_text": text, **place, **where}
            yield Passage(str(title or ""), text, (citation,) if is_cited else ())


def _located(block: Json) -> Iterator[tuple[str, Json]]:
    """The texts of a source, and where the API says that they are."""
    source = block if block["type"] == "search_result" else block.get("source") or {}
    match source.get("type"):
        case "text":
            text = str(source.get("data") or "")
            for start, end in sentences(text):
                where = {"start_char_index": start, "end_char_index": end}
                yield text[start:end], {"type": "char_location", **where}
        case "content" | "search_result" as kind:
            type = "content_block" if kind == "content" else kind
            parts = source.get("content") or []
            for at, part in enumerate([parts] if isinstance(parts, str) else parts):
                text = part if isinstance(part, str) else str(part.get("text") or "")
                if text.strip():
                    where = {"start_block_index": at, "end_block_index": at + 1}
                    yield text, {"type": f"{type}_location", **where}
        case "base64":
            for number, text in enumerate(_page_texts(str(source.get("data") or "")), 1):
                where = {"start_page_number": number, "end_page_number": number + 1}
                for start, end in sentences(text):
                    yield text[start:end], {"type": "page_location", **where}


@lru_cache(maxsize=8)
def _page_texts(data: str) -> tuple[str, ...]:
    """The text of each page. Empty when the library is not installed or the file is no PDF:
    then nothing is cited, because a citation must hold the source's own words."""
    try:
        import pypdfium2
    except ImportError:
        return ()
    try:
        document = pypdfium2.PdfDocument(base64.b64decode(data))
    except (pypdfium2.PdfiumError, binascii.Error, ValueError):
        return ()
    with document:
        pages = range(min(len(document), MOST_PAGES))
        return tuple(document[at].get_textpage().get_text_bounded() for at in pages)
