"""A document becomes passages: pieces of one thing each, cut where the text itself is cut."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST = 900  # characters of a passage
SHORTEST = 120  # a shorter one joins the one before it, under the same heading
# What every passage below it has. What is longer is text as any other.
LONGEST_HEADING = 200
LONGEST_HEAD = 600  # of a table
_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^\t\n]+(\t[^\t\n]*)+$")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[\w\"'“(])")


@dataclass(frozen=True)
class Page:
    """A part of a document as it was read: a page of a PDF, or all of a text."""

    text: str
    number: int | None = None  # from 1; None where there are no pages


@dataclass(frozen=True)
class Passage:
    """What is found and cited."""

    text: str
    heading: str = ""  # the headings above it, from the top: "Travel › Hotels"
    page: int | None = None


def passages(pages: Iterable[Page]) -> list[Passage]:
    """The passages of a document, in its order. A heading stays in force over pages."""
    found: list[Passage] = []
    headings: list[str] = []
    for page in pages:
        for block in _blocks(page.text):
            if heading := _heading(block):
                headings[_level(block) - 1 :] = [heading]
                continue
            for text in _pieces(block):
                _add(found, Passage(text, " › ".join(headings), page.number))
    return found


def _blocks(text: str) -> Iterator[str]:
    """Headings, tables and paragraphs, each for itself."""
    block: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        is_heading = bool(_heading(line))
        ends = not line.strip() or is_heading or bool(block and _is_row(line) != _is_row(block[-1]))
        if ends and block:
            yield "\n".join(block)
            block = []
        if is_heading:
            yield line
        elif line.strip():
            block.append(line.rstrip())
    if block:
        yield "\n".join(block)


def _heading(line: str) -> str:
    """What a line as `## Hotels` says; nothing where it is no heading."""
    level = _level(line)
    if not 1 <= level <= 6 or not line[level : level + 1].isspace():
        return ""
    text = line[level:].rstrip().rstrip("#").strip()
    return text if len(text) <= LONGEST_HEADING else ""


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))


def _is_row(line: str) -> bool:
    return bool(_ROW.match(line))


def _pieces(block: str) -> Iterator[str]:
    if len(block) <= LONGEST:
        yield block.strip()
    elif _is_row(block.split("\n", 1)[0]):
        yield from _tables(block.split("\n"))
    else:
        yield from _joined(_SENTENCE_END.split(" ".join(block.split())), " ")


def _tables(rows: list[str]) -> Iterator[str]:
    """A long table is several ones with the same head: a row alone says nothing."""
    is_marked = len(rows) > 1 and set(rows[1]) <= set("|-: ")
    head = rows[: 2 if is_marked else 1]
    if len(head) == len(rows) or sum(map(len, head)) > LONGEST_HEAD:
        head = []
    for part in _joined(rows[len(head) :], "\n", most=LONGEST - sum(map(len, head))):
        yield "\n".join([*head, part])


def _joined(parts: Iterable[str], between: str, most: int = LONGEST) -> Iterator[str]:
    """Neighbors together, as many as fit; a part that is too long by itself is cut."""
    text = ""
    for whole in parts:
        for part in [whole[at : at + most] for at in range(0, len(whole), most)]:
            if text and len(text) + len(between) + len(part) > most:
                yield text
                text = ""
            text = f"{text}{between}{part}" if text else part
    if text:
        yield text


def _add(found: list[Passage], passage: Passage) -> None:
    before = found[-1] if found else None
    if (
        before
        and (before.heading, before.page) == (passage.heading, passage.page)
        and min(len(before.text), len(passage.text)) < SHORTEST
        and len(before.text) + len(passage.text) < LONGEST
    ):
        text = f"{before.text}\n{passage.text}"
        found[-1] = Passage(text, passage.heading, passage.page)
    elif passage.text:
        found.append(passage)
