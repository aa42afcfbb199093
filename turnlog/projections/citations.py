"""Whether citations hold, and where their words stand in a file: page, and place in its text.

The API says a page, a range of characters or a block. The words are looked for there. Where the
source has other words, or the model was given no such source, the citation does not hold; where a
page has no text, nobody can tell. White space makes no difference: a PDF breaks lines as it likes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from turnlog.events.content import Block, Citation
from turnlog.projections.history.sources import page_of

MOST_PAGES = 20  # that the words of one citation may stand on
OF_DOCUMENTS = ("page_location", "char_location", "content_block_location")
Row = dict[str, Any]


class Source(NamedTuple):
    """A document of a prompt: which file it is. Its blocks are the pages of the file."""

    file_id: str
    name: str


class Sources(NamedTuple):
    """What a model was given that it can cite."""

    documents: Sequence[Source] = ()  # of its prompt, in the order in which the API counts them
    found: Mapping[str, Sequence[Sequence[str]]] = {}  # by source: the texts of each search result
    web: frozenset[str] = frozenset()  # addresses of pages that a web search has found

    def plus(self, blocks: Iterable[Block]) -> "Sources":
        """With the results of searches that are in these blocks."""
        found, web = {name: [*texts] for name, texts in self.found.items()}, set(self.web)
        for block in blocks:
            if block.get("type") == "search_result":
                texts = [str(text.get("text", "")) for text in block.get("content", ())]
                found.setdefault(str(block.get("source")), []).append(texts)
            elif block.get("type") == "web_search_tool_result":
                web |= _addresses(block.get("content"))
        return Sources(self.documents, found, frozenset(web))


def _addresses(results: Any) -> set[str]:
    """Of the pages that a web search found; one that failed has an error instead of a list."""
    pages = results if isinstance(results, list) else []
    return {str(page.get("url")) for page in pages if isinstance(page, dict)}


class Place(NamedTuple):
    """The file and the pages that a citation names."""

    file_id: str
    name: str
    first: int
    last: int  # the same for one page
    start: int | None = None  # characters, where the API says them
    end: int | None = None

    @property
    def pages(self) -> range:
        return range(self.first, min(self.last, self.first + MOST_PAGES - 1) + 1)


def place_of(citation: Citation, documents: Sequence[Source]) -> Place | None:
    """The place that a citation names; None where it is in no file."""
    if citation.get("type") == "search_result_location":
        found = page_of(str(citation.get("source") or ""))
        title = str(citation.get("title") or "")
        return Place(found[0], title, found[1], found[1]) if found else None
    index = citation.get("document_index")
    if not isinstance(index, int) or not 0 <= index < len(documents):
        return None
    file_id, name = documents[index]
    if not file_id:
        return None
    match citation:
        case {
            "type": "page_location",
            "start_page_number": int(first),
            "end_page_number": int(end),
        }:
            return Place(file_id, name, first, max(first, end - 1))
        case {
            "type": "content_block_location",
            "start_block_index": int(first),
            "end_block_index": int(end),
        }:
            return Place(file_id, name, first + 1, max(first + 1, end))
        case {
            "type": "char_location",
            "start_char_index": int(start),
            "end_char_index": int(end),
        }:
            return Place(file_id, name, 1, 1, start, end)
    return None


def judged(citation: Citation, sources: Sources) -> Row:
    """Of a citation that leads into no file: whether it holds, where that can be told."""
    match citation.get("type"):
        case "search_result_location":
            return {"verified": _is_found(citation, sources.found)}
        case "web_search_result_location":  # the page itself is not at hand
            return {} if citation.get("url") in sources.web else {"verified": False}
        case kind if kind in OF_DOCUMENTS and not _is_nameless(citation, sources.documents):
            return {"verified": False}  # there is no such document, or no such place in one
    return {}


def _is_found(citation: Citation, found: Mapping[str, Sequence[Sequence[str]]]) -> bool:
    """Whether a search result of this source has the words in the blocks that are named."""
    words = _squeezed(str(citation.get("cited_text") or ""))
    start, end = citation.get("start_block_index"), citation.get("end_block_index")
    if not isinstance(start, int) or not isinstance(end, int) or start < 0:
        return False
    results = found.get(str(citation.get("source") or ""), ())
    return any(words in _squeezed("".join(texts[start:end])) for texts in results if texts[start:])


def _is_nameless(citation: Citation, documents: Sequence[Source]) -> bool:
    """Whether it names a document of the prompt that is no file."""
    index = citation.get("document_index")
    known = isinstance(index, int) and 0 <= index < len(documents)
    return known and not documents[cast(int, index)].file_id


def located(citation: Citation, place: Place, texts: Mapping[int, str] | None) -> Row:
    """What is kept of a citation beside what the API sent. `texts` by page; None: the file has
    no such page.
    """
    file: Row = {"name": place.name, "page": place.first}
    if place.last != place.first:
        file["endPage"] = place.last
    words = str(citation.get("cited_text") or "")
    if texts is None:
        return _row(place, file, False)
    if not any(text.strip() for text in texts.values()) or not words.strip():
        return _row(place, file, None)
    if place.start is not None and place.end is not None:
        text = texts[place.first]
        is_there = _squeezed(text[place.start : place.end]) == _squeezed(words)
        return _row(place, file | {"start": place.start, "end": place.end}, is_there)
    for page, text in texts.items():
        if span := _find(words, text):
            exact = file | {"page": page, "start": span[0], "end": span[1]}
            exact.pop("endPage", None)
            return _row(place, exact, True)
    together = _squeezed(" ".join(texts.values()))
    return _row(place, file, _squeezed(words) in together)


def _row(place: Place, file: Row, verified: bool | None) -> Row:
    return {"fileId": place.file_id, "file": file, "verified": verified}


def _find(words: str, text: str) -> tuple[int, int] | None:
    """Where the words stand, whatever white space is between them."""
    pieces = words.split()
    pattern = r"\s+".join(map(re.escape, pieces))
    match = re.search(pattern, text)
    return match.span() if match else None


def _squeezed(text: str) -> str:
    return "".join(text.split())


def shown(row: Mapping[str, Any], location: Citation) -> Row:
    """A row of the table as `/api/.../citations` has it."""
    file = location.get("file") or {}
    return {
        "message_id": row["message_id"],
        "session_id": row["session_id"],
        "position": row["position"],
        "created_at": row["created_at"],
        "kind": row["kind"],
        "block_index": row["block_index"],
        "start": location.get("start"),
        "end": location.get("end"),
        "cited_text": row["cited_text"],
        "title": location.get("document_title") or location.get("title"),
        "url": location.get("url"),
        "file_id": location.get("fileId"),
        "file_name": file.get("name"),
        "page": file.get("page"),
        "end_page": file.get("endPage", file.get("page")),
        "start_char": file.get("start"),
        "end_char": file.get("end"),
        "verified": location.get("verified"),
        "location": location,
    }
