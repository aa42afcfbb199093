"""A text as lines, sentences and words: cut up once, each character looked at a few times.

Models write it, and users: whatever it is, this costs as much as it is long. So there is one
expression, whose repetitions cannot be divided in two ways, and everything else compares words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from turnlog.projections.claims.words import NUMBER_WORDS

MOST_TEXT = 20_000  # characters that are read
QUOTE = "“"  # stands for all that is quoted
_WORD = re.compile(r"(?<=\w)['’]\w+|\w+(?:(?:-|(?<=\d)[.,](?=\d))\w+)*|[^\w\s]")
_ENDS = frozenset(".!?")
_BULLETS = frozenset("-*•")
_BREAKS = frozenset(",;:!")  # with a space behind it, the clause ends
_DASHES = frozenset("–—")
# An opening mark, those that close it, those that must not stand between, how far it may go.
# fmt: off
_QUOTES: dict[str, tuple[str, str, int]] = {
    "“": ("”",  "“", 300),
    "„": ("“”", "„", 300),
    '"': ('"',  "",  300),
    "'": ("'",  "",  80),
}
# fmt: on


@dataclass(frozen=True)
class Sentence:
    """A sentence, as it was written and as words; punctuation marks are words too."""

    text: str
    words: list[str]  # in small letters
    written: list[str]  # the same, as they were written
    spaced: list[bool]  # whether a space follows
    is_item: bool  # of a list
    begins_line: bool

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.words)

    @property
    def asks(self) -> bool:
        return self.words[-1] == "?"

    def clauses(self, joins: frozenset[str]) -> Iterator[tuple[int, int]]:
        """From word to word; at what joins or divides them, a new one begins."""
        start, last = 0, len(self.words) - 1
        for place, word in enumerate(self.words):
            breaks = word in _BREAKS and self.spaced[place] and place < last
            dash = word in _DASHES or (word == "-" and self.spaced[place])
            if breaks or dash or (word in joins and 0 < place < last):
                yield start, place
                start = place + 1
        yield start, len(self.words)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text, without code, quoted lines and marks."""
    for line, is_item in _lines(text[:MOST_TEXT]):
        tokens = _tokens(line)
        start = 0
        for place, (_, _, after) in enumerate(tokens, 1):
            mark = tokens[place - 1][0] in _ENDS and line[after : after + 1].isspace()
            if mark or place == len(tokens):
                yield _sentence(line, tokens[start:place], is_item, start == 0)
                start = place


def words_of(text: str) -> list[str]:
    """All words of a text, those that are quoted too."""
    words: list[str] = _WORD.findall(text.lower().replace("’", "'"))
    return [word.strip("_") for word in words] if "_" in text else words


def number(word: str) -> int | None:
    """The number that a word is, unless it is large."""
    if word.isdecimal():
        return int(word) if len(word) <= 4 else None
    return NUMBER_WORDS.get(word)


def numbers_in(words: Iterable[str]) -> frozenset[int]:
    return frozenset(n for n in map(number, words) if n is not None)


def is_word(word: str) -> bool:
    return word[0].isalnum()


def first_word(words: Sequence[str], start: int, end: int) -> int:
    """The place of the first word that is no mark; `end` if there is none."""
    return next((place for place in range(start, end) if is_word(words[place])), end)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines that are not code, and whether each is an item of a list."""
    for line in "\n".join(text.split("```")[::2]).split("\n"):
        if line[:1] == ">":
            continue
        line = line.replace("**", "").replace("__", "").replace("`", "").strip()
        mark, space, rest = line.partition(" ")
        numbered = len(mark) <= 3 and mark[:-1].isdecimal() and mark[-1] in ".)"
        if space and (mark in _BULLETS or numbered):
            yield rest.lstrip(), True
        else:
            heading = space and len(mark) <= 6 and not mark.strip("#")
            yield rest.lstrip() if heading else line, False


def _sentence(
    line: str, tokens: Sequence[tuple[str, int, int]], is_item: bool, begins_line: bool
) -> Sentence:
    words, starts, ends = zip(*tokens, strict=True)
    return Sentence(
        text=line[starts[0] : ends[-1]],
        words=list(words),
        written=[line[start:end] for start, end in zip(starts, ends, strict=True)],
        spaced=[line[end : end + 1].isspace() for end in ends],
        is_item=is_item,
        begins_line=begins_line,
    )


def _tokens(line: str) -> list[tuple[str, int, int]]:
    """Each word with its place; what is quoted is one word."""
    marks = [(match[0], match.start(), match.end()) for match in _WORD.finditer(line)]
    tokens: list[tuple[str, int, int]] = []
    place = 0
    while place < len(marks):
        mark, start, end = marks[place]
        closing = _closing(marks, place, line) if mark in _QUOTES else None
        if closing is None:
            word = mark.lower().replace("’", "'").strip("_") or "_"
            tokens.append((word, start, end))
            place += 1
        else:
            tokens.append((QUOTE, start, marks[closing][2]))
            place = closing + 1
    return tokens


def _closing(marks: Sequence[tuple[str, int, int]], place: int, line: str) -> int | None:
    """Where the quote ends that begins here. No mark that opens one is passed over, so that a
    search that finds nothing is not made again by the next mark.
    """
    mark, start, _ = marks[place]
    closing, forbidden, longest = _QUOTES[mark]
    if mark == "'" and line[start - 1 : start].isalnum():
        return None
    for later in range(place + 1, len(marks)):
        word, at, end = marks[later]
        if at - start > longest or (forbidden and word == forbidden):
            return None
        if word in closing:
            inside = later > place + 1
            whole = mark != "'" or not line[end : end + 1].isalnum()
            return later if inside and whole else None
    return None


_OPTIONAL = re.compile(r"\(([^|()]+)\)")  # reads tables only, never what somebody wrote


class Phrases:
    """A table of phrases as `words` writes them, or of several kinds of phrases.

    A place is compared with no more words than the longest has. What is in `but` begins like a
    phrase and is none.
    """

    def __init__(self, table: str | Mapping[str, str], but: str = "") -> None:
        tables = {"": table} if isinstance(table, str) else table
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
        for kind, phrases in tables.items():
            for phrase in _phrases(phrases):
                self._kinds[phrase] = (*self._kinds.get(phrase, ()), kind)
        self.words = frozenset(word for phrase in self._kinds for word in phrase)
        self._kinds |= dict.fromkeys(_phrases(but), ())
        self._firsts = frozenset(phrase[0] for phrase in self._kinds)
        self._longest = max(map(len, self._kinds))

    def at(self, words: Sequence[str], place: int, end: int | None = None) -> int:
        """How many words the phrase has that begins at this place; 0 if none does."""
        end = len(words) if end is None else end
        if place >= end or words[place] not in self._firsts:
            return 0
        for length in range(min(self._longest, end - place), 0, -1):
            if (kinds := self._kinds.get(tuple(words[place : place + length]))) is not None:
                return length if kinds else 0
        return 0

    def before(self, words: Sequence[str], place: int) -> int:
        """How many words the phrase has that ends just before this place; 0 if none does."""
        for length in range(min(self._longest, place), 0, -1):
            if tuple(words[place - length : place]) in self._kinds:
                return length
        return 0

    def within(self, words: Sequence[str]) -> bool:
        return any(self.at(words, place) for place in range(len(words)))

    def all(self, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Where each phrase stands, from word to word, once for each of its kinds."""
        for place in range(len(words)):
            end = place + self.at(words, place)
            for kind in self._kinds.get(tuple(words[place:end]), ()):
                yield place, end, kind


def _phrases(table: str) -> Iterator[tuple[str, ...]]:
    for phrase in filter(None, table.split("|")):
        yield from (tuple(form.split()) for form in _forms(phrase))


def _forms(phrase: str) -> Iterable[str]:
    """`task(s)` is `task` and `tasks`."""
    optional = _OPTIONAL.search(phrase)
    if optional is None:
        return [phrase]
    before, after = phrase[: optional.start()], phrase[optional.end() :]
    return [*_forms(before + after), *_forms(before + optional[1] + after)]
