"""The records that tool results hold, and which of them the user means.

"task 2", "the second one", "it", "the Athens desk": looked up in what tools have returned.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..script import Json
from .schema import words_of
from .talk import Done
from .words import FILLERS, VERBS, concept, is_verb, numbered, singular, tokens

NAMES = ("title", "displayname", "display_name", "name", "subject", "label", "description", "text")
KEYS = ("number", "id", "no", "code", "key", "uuid", "guid")
ORDINALS = {
    **numbered("first second third fourth fifth sixth seventh eighth ninth tenth"),
    "last": -1,
}
GUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I)
_ORDINAL = re.compile(
    rf"\b(?:({'|'.join(ORDINALS)})|(\d+)(?:st|nd|rd|th))\b(?! (?:week|month|quarter|year))", re.I
)
_BACK = re.compile(r"\b(its?|his|their|that|this|they|them|him|her|the same|one)\b", re.I)


@dataclass(frozen=True)
class Record:
    """One thing that a tool told of."""

    noun: str
    fields: Json

    @cached_property
    def title(self) -> str:
        """What a person would call it; "" when it has only keys."""
        return self._first(NAMES)

    @cached_property
    def name(self) -> str:
        return self.title or self._first(KEYS)

    def _first(self, names: Iterable[str]) -> str:
        by_lower = {key.lower(): value for key, value in self.fields.items()}
        return str(next((by_lower[name] for name in names if _says(by_lower.get(name))), ""))

    @cached_property
    def words(self) -> set[str]:
        texts = [v for v in self.fields.values() if isinstance(v, str) and len(v) < 200]
        return {singular(token) for text in texts for token in tokens(text)}

    def key_texts(self) -> set[str]:
        return {str(v) for k, v in self.fields.items() if _is_key(k) and _says(v)}

    def field(self, parameter: str) -> Any:
        """The field that fits a parameter: `customer_id` is the customer's `id`."""
        wanted = words_of(parameter).split()
        for size in range(len(wanted)):
            for key, value in self.fields.items():
                if words_of(key).split() == wanted[size:] and _says(value):
                    return value
        return next((v for k, v in self.fields.items() if k.lower() in KEYS and _says(v)), None)


def _says(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _is_key(name: str) -> bool:
    return words_of(name).split()[-1:] != [] and words_of(name).split()[-1] in KEYS


def of_result(done: Done, noun: str) -> list[Record]:
    """The records in a result: a list, an object that wraps one list, or one object."""
    if done.failed:
        return []
    return [Record(noun, fields) for fields in rows(done.value)]


def rows(value: Any) -> list[Json]:
    if isinstance(value, list):
        return [row for row in value if isinstance(row, dict)]
    if not isinstance(value, dict):
        return []
    inside = wrapped(value)
    return rows(inside[1]) if inside else [value]


def wrapped(value: Json) -> tuple[str, list[Any]] | None:
    """The one list that an object is there for: {"value": [...], "count": 3}."""
    lists = [(k, v) for k, v in value.items() if isinstance(v, list)]
    is_record = any(key.lower() in ("id", "number", "title") for key in value)
    return lists[0] if len(lists) == 1 and not is_record else None


def is_empty_list(value: Any) -> bool:
    inside = wrapped(value) if isinstance(value, dict) else None
    return value == [] or (inside is not None and inside[1] == [])


@dataclass
class Known:
    """All that tools have told so far, oldest first."""

    shelves: list[list[Record]] = field(default_factory=list)

    def add(self, done: Done, noun: str) -> list[Record]:
        found = of_result(done, noun)
        if found:
            self.shelves.append(found)
        elif not done.failed and not done.input and is_empty_list(done.value):
            self.shelves = [shelf for shelf in self.shelves if shelf[0].noun != noun]
        return found

    def point_at(self, noun: str, key: Any) -> None:
        """A record that was named by its key is talked about now."""
        for shelf in self.of(noun):
            for record in shelf:
                if str(key) in record.key_texts():
                    self.shelves.append([record])
                    return

    @property
    def focus(self) -> str:
        """The noun that was talked about last."""
        return self.shelves[-1][0].noun if self.shelves else ""

    def noun_named_in(self, text: str) -> str:
        """The noun of a record whose whole name stands in the text."""
        said = {singular(token) for token in tokens(text)}
        for shelf in reversed(self.shelves):
            for record in shelf:
                words = {singular(token) for token in tokens(record.title)}
                if words <= said and not words <= FILLERS:
                    return record.noun
        return ""

    def of(self, noun: str) -> Iterator[list[Record]]:
        """The lists of that noun, newest first."""
        return (shelf for shelf in reversed(self.shelves) if shelf[0].noun == noun)

    def last_one(self, noun: str) -> Record | None:
        """What "it" is: the newest result that told of one record only."""
        return next((shelf[0] for shelf in self.of(noun) if len(shelf) == 1), None)

    def meant(self, noun: str, phrase: str) -> list[Record]:
        """The records that a phrase can mean: one is an answer, several are a question."""
        for found in (self._by_key(noun, phrase), self._by_place(noun, phrase)):
            if found:
                return [found]
        if by_name := self._by_name(noun, phrase):
            return by_name
        last = self.last_one(noun)
        return [last] if last and (_BACK.search(phrase) or not said(phrase, noun)) else []

    def _by_key(self, noun: str, phrase: str) -> Record | None:
        keys = {*GUID.findall(phrase), *re.findall(r"(?<![\w-])[\w-]*\d[\w-]*(?![\w-])", phrase)}
        for shelf in self.of(noun):
            for record in shelf:
                if keys & record.key_texts():
                    return record
        return None

    def _by_place(self, noun: str, phrase: str) -> Record | None:
        """In the newest list of several: what the user has before the eyes."""
        shelf = next((s for s in self.of(noun) if len(s) > 1), None)
        shelf = shelf or next(iter(self.of(noun)), None)
        place = _place(noun, phrase)
        if shelf is None or place is None or not -len(shelf) <= place < len(shelf):
            return None
        return shelf[place]

    def _by_name(self, noun: str, phrase: str) -> list[Record]:
        words = said(phrase, noun)
        if not words:
            return []
        proper = {word for word in _capitals(phrase) if word in words}
        for shelf in self.of(noun):
            best = _best([record for record in shelf if proper <= record.words], words)
            if best:
                return best
        return []


def _capitals(phrase: str) -> set[str]:
    """Words with a capital, as they are in names: a Paris chair is no Berlin chair."""
    words = re.findall(r"(?<!\w)[A-Z][\w'’-]*", phrase)
    return {singular(t) for word in words if not is_verb(word.lower()) for t in tokens(word)}


def said(phrase: str, noun: str = "") -> list[str]:
    """The words of a phrase that could be part of a name."""
    plain = [word for word in tokens(phrase) if word not in FILLERS and concept(word) != noun]
    return [singular(word) for word in plain if word not in VERBS]


def _best(shelf: Iterable[Record], words: list[str]) -> list[Record]:
    """The records with the most of these words, and at least half of them."""
    scored = [(sum(word in record.words for word in words), record) for record in shelf]
    most = max((score for score, _ in scored), default=0)
    if most * 2 < len(words) or most == 0:
        return []
    best = [record for score, record in scored if score == most]
    exact = [r for r in best if [singular(t) for t in tokens(r.name)] == words]
    return exact[:1] or best


def _place(noun: str, phrase: str) -> int | None:
    if found := _ORDINAL.search(phrase):
        return ORDINALS[found[1].lower()] if found[1] else int(found[2][:6]) - 1
    numbered = re.search(r"(?:#|\bnumber |\bno\.? ?|\b[a-z]+ )(\d{1,6})\b", phrase, re.I)
    bare = re.fullmatch(r"\W*(\d{1,6})\W*", phrase)
    number = numbered or bare
    return int(number[1]) - 1 if number and int(number[1]) else None
