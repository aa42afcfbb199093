"""What tool results hold: the lengths of their lists, their numbers, their words.

Results may be huge and many. They are read up to a bound, all together; beyond it they count as
unread, and whoever compares with them stays silent.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from turnlog.projections.claims.text import number, numbers_in, words_of
from turnlog.projections.tool_words import words_of as words_in_name

MOST_VALUES = 20_000  # of all results together
MOST_CHARACTERS = 200_000
MOST_LETTERS = 200  # of a value that many records may have in common
_NAMES_ONE = frozenset({"id", "no", "number", "nr", "code", "key"})


class Held:
    """What values hold: the lengths of their lists, their numbers, their words."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.lengths: list[int] = []
        self.groups: set[int] = set()  # how many of a list have a value in common
        self.numbers: list[int] = []
        self.words: set[str] = set()
        self.loose: list[list[str]] = []  # the words of results that are text, and no JSON
        self.loose_sizes: list[int] = []  # how many such a text may list: its lines, its commas
        self._values = self._characters = 0
        for value in values:
            if not self.cut:
                self._take(value)

    @property
    def cut(self) -> bool:
        return self._values > MOST_VALUES or self._characters > MOST_CHARACTERS

    @cached_property
    def sum(self) -> int:
        """More than anybody can count in it."""
        return sum(self.lengths) + sum(self.numbers)

    @cached_property
    def all_numbers(self) -> frozenset[int]:
        return frozenset((*self.lengths, *self.numbers))

    @cached_property
    def says_nothing(self) -> bool:
        """Whether all that came back is empty."""
        return not self.words and not self.loose and not any(self.lengths)

    def may_count(self, number: int, written: int) -> bool:
        """Whether somebody who reads it may come to this number, before or after the writes."""
        if number in self._counts:
            return True
        nearest = bisect_left(self._sizes, number - written)
        return nearest < len(self._sizes) and self._sizes[nearest] <= number + written

    @cached_property
    def _sizes(self) -> list[int]:
        return sorted([*self.lengths, sum(self.lengths), *self.loose_sizes])

    @cached_property
    def _counts(self) -> set[int]:
        in_texts = numbers_in(word for words in self.loose for word in words)
        return {*self.groups, *self.numbers, sum(self.numbers), *in_texts}

    def lists_without_count(self, record: str) -> bool:
        """Whether there is text that may list such records in any form, and does not count them."""
        return any(record[:5] not in counted for counted in self._counted)

    @cached_property
    def _counted(self) -> list[set[str]]:
        """Of each text, the beginnings of words that stand behind a number."""
        return [
            {
                word[:5]
                for place, before in enumerate(words[:400])
                if number(before) is not None
                for word in words[place + 1 : place + 4]
            }
            for words in self.loose
        ]

    def _take(self, value: Any) -> None:
        """Read a result with all that is in it, a level at a time; no recursion, it may be deep."""
        level = self._unpacked(value)
        for text in level:
            if isinstance(text, str):
                self._take_text(text)
        while level and not self.cut:
            self.lengths.append(sum(len(each) for each in level if isinstance(each, list)))
            level = [inner for each in level for inner in self._inside(each)]

    def _take_text(self, text: str) -> None:
        self._characters += len(text)
        if not self.cut:
            self.loose.append(words_of(text))
            self.loose_sizes += [len(text.splitlines()), text.count(",") + 1]

    def _inside(self, value: Any) -> Sequence[Any]:
        match value:
            case dict() | list() | tuple():
                self._values += len(value)
                if self.cut:
                    return ()
                return self._fields(value) if isinstance(value, dict) else self._list(value)
            case bool() | None:
                return ()
        self._word(str(value), counts=True)
        return ()

    def _list(self, value: Sequence[Any]) -> Sequence[Any]:
        self.lengths.append(len(value))
        self.groups |= _groups(value)
        return value

    def _fields(self, value: dict[Any, Any]) -> Sequence[Any]:
        if all(isinstance(each, dict | list) for each in value.values()):  # keyed by id or name
            self.lengths.append(len(value))
        inner = []
        for name, each in value.items():
            self._word(str(name))
            if self.cut:
                return ()
            self.words.update(words_in_name(str(name)))
            if names_one(str(name)) and not isinstance(each, dict | list):
                self._word(str(each))
            else:
                inner.append(each)
        return inner

    def _word(self, text: str, counts: bool = False) -> None:
        self._characters += len(text)
        if not self.cut:
            words = words_of(text)
            self.words.update(words)
            if counts:
                self.numbers += [int(word) for word in words if word.isdecimal() and len(word) < 7]

    def _unpacked(self, value: Any) -> list[Any]:
        """JSON that comes as text, and the text blocks of tool servers, as what they stand for."""
        self._values += 1
        if isinstance(value, dict) and isinstance(value.get("content"), list):
            value = value["content"]
        match value:
            case str():
                return [_parsed(value)]
            case [{"type": "text"}, *_]:
                self._values += len(value)
                blocks = () if self.cut else value
                return [_parsed(b.get("text")) if isinstance(b, dict) else b for b in blocks]
        return [value]


def names_one(field: str) -> bool:
    """`id`, `customer_no`, `itemNumber`."""
    return not _NAMES_ONE.isdisjoint(words_in_name(field)[-1:])


def _parsed(text: Any) -> Any:
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        return text
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _groups(values: Sequence[Any]) -> set[int]:
    """In how many of the values each field has the same value."""
    fields = (
        (name, str(value))
        for each in values[:2000]
        if isinstance(each, dict)
        for name, value in each.items()
        if isinstance(value, int | None) or (isinstance(value, str) and len(value) < MOST_LETTERS)
    )
    return set(Counter(fields).values())
