"""Where the words of a citation stand in a file: page, and place in the page's text.

The API says a page, a range of characters or a block. The words are looked for there. Where the
text of the file has other words, the citation does not hold; where a page has no text, nobody can
tell. White space makes no difference: a PDF breaks lines as it likes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.events.content import Citation
from turnlog.projections.history.sources import page_of

MOST_PAGES = 20  # that the words of one citation may stand on
Row = dict[str, Any]


class Source(NamedTuple):
    """A document of a prompt: which file it is. Its blocks are the pages of the file."""

    file_id: str
    name: str


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
