"""Finds what sentences claim to have been done. Knows words, and nothing about tools.

It begins at the verb ("deleted") and looks at the words around it: who did it, what to, and
whether something before it ("if", "cannot") makes it no claim.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from turnlog.projections.claims import words as w
from turnlog.projections.claims.text import QUOTE, Phrases, Sentence, first_word, is_word, number
from turnlog.projections.claims.words import DEEDS, Deed

LONGEST = 600  # characters of a sentence that may be a claim
HEADING = 120  # characters of a clause that may be one without a verb
FAR = 20  # words between the German auxiliary and its verb

ENGLISH = Phrases({kind: deed.english for kind, deed in DEEDS.items()}, w.NO_DEED)
GERMAN = Phrases({kind: deed.german for kind, deed in DEEDS.items()})
ASKED = Phrases({kind: deed.asked for kind, deed in DEEDS.items()})
PAST = {kind: Phrases(f"{deed.english}|{deed.german}").words for kind, deed in DEEDS.items()}
WORDS = ENGLISH.words | GERMAN.words | {"able", "managed"}
_ADVERBS, _LEADS, _DONE = Phrases(w.ADVERBS).words, Phrases(w.LEADS), Phrases(w.DONE)
_HEDGES, _CONDITIONS = Phrases(w.HEDGES), Phrases(w.CONDITIONS)
_JOINS, _DETERMINERS = Phrases(w.JOINS).words, Phrases(w.DETERMINERS).words
_OTHER_VERBS, _NONE = Phrases(w.OTHER_VERBS).words, Phrases(w.NONE_OF_IT).words
_MARKED_AS = Phrases(w.MARKED_AS).words
_ABLE = Phrases("was able to|managed to")
_GERMAN_PAST = frozenset({"wurde", "wurden"})
_GERMAN_PRESENT = _GERMAN_PAST | {"ist", "sind"}
_SUCCESS = frozenset({"successfully", "erfolgreich"})
_RECORDS = Phrases(w.RECORDS, w.NO_RECORD)
_LISTS = Phrases(w.ONES_LIST).words


class Claim(NamedTuple):
    """Something that was done, as a sentence says."""

    kind: str
    sentence: Sentence
    about: tuple[int, int]  # the words that say what it was done to
    by_the_model: bool  # "I deleted", not "was deleted"

    @property
    def deed(self) -> Deed:
        return DEEDS[self.kind]


class Verb(NamedTuple):
    """A word of claiming, from word to word."""

    start: int
    end: int
    kind: str
    german: bool


def record_at(words: Sequence[str], place: int) -> int:
    """How many words the record has that is named at this place: `task`, `your shopping list`."""
    if place < len(words) and words[place] in _LISTS and "list" in words[place + 1 : place + 3]:
        if words[place + 1] == "list":
            return 2
        return 3 if is_word(words[place + 1]) else 0
    return _RECORDS.at(words, place)


def record_in(words: Sequence[str]) -> int | None:
    """Where the first record is named."""
    return next((place for place in range(len(words)) if record_at(words, place)), None)


def claims_of(sentence: Sentence) -> list[Claim]:
    """What the sentence claims; at most one claim of each kind."""
    if sentence.vocabulary.isdisjoint(WORDS) or sentence.asks:
        return []
    if "|" in sentence.vocabulary or len(sentence.text) > LONGEST:
        return []
    claims: dict[str, Claim] = {}
    for claim in _Reading(sentence).claims():
        claims.setdefault(claim.kind, claim)
    return list(claims.values())


class _Reading:
    """One sentence while it is read."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.words = sentence.words
        self.first = first_word(self.words, 0, len(self.words))

    def claims(self) -> Iterator[Claim]:
        if _CONDITIONS.at(self.words, self.first):
            return
        speaking = False  # whether "I ..." stands before, and was no hedge
        for start, end in self.sentence.clauses(_JOINS):
            clause = _Clause(self.words, start, end)
            yield from self._able(clause)
            for verb in self._verbs(clause):
                yield from self._own(verb, clause, speaking)
                yield from self._told(verb, clause)
            speaking = (speaking or clause.speaks) and not self._hedged(start, end)

    def _verbs(self, clause: "_Clause") -> Iterator[Verb]:
        for place in range(bisect_left(self._all_verbs, (clause.start,)), len(self._all_verbs)):
            if self._all_verbs[place].end > clause.end:
                return
            yield self._all_verbs[place]

    @cached_property
    def _all_verbs(self) -> list[Verb]:
        english = [Verb(*place, german=False) for place in ENGLISH.all(self.words)]
        german = [Verb(*place, german=True) for place in GERMAN.all(self.words)]
        return [verb for verb in sorted(english + german) if self._is_deed(verb)]

    def _is_deed(self, verb: Verb) -> bool:
        """`marked it as done` is one, `marked it in red` is none."""
        following = self.words[verb.end : verb.end + FAR]
        return self.words[verb.start] != "marked" or not _MARKED_AS.isdisjoint(following)

    @cached_property
    def _last_hedges(self) -> list[int]:
        """For each place, where the last hedge before it begins; -1: nowhere."""
        begins = {}
        for place in range(len(self.words)):
            if length := _HEDGES.at(self.words, place):
                begins[place + length] = place
        ends = range(len(self.words) + 1)
        return list(accumulate((begins.get(end, -1) for end in ends), func=max))

    def _hedged(self, start: int, end: int) -> bool:
        return self._last_hedges[end] >= start

    def _claim(self, kind: str, about: tuple[int, int], by_the_model: bool) -> Iterator[Claim]:
        if about[0] >= about[1] or self.words[about[0]] not in _NONE:
            yield Claim(kind, self.sentence, about, by_the_model)

    def _able(self, clause: "_Clause") -> Iterator[Claim]:
        """`I was able to add the line`."""
        if (place := clause.subject.able) is None or self._hedged(clause.start, place):
            return
        for start, end, kind in ASKED.all(self.words[place : place + 3]):
            if start == 0:
                yield from self._claim(kind, (place + end, len(self.words)), True)

    def _own(self, verb: Verb, clause: "_Clause", speaking: bool) -> Iterator[Claim]:
        """`I deleted the task`; in German, what it was done to stands before the verb."""
        if self._hedged(clause.start, verb.start):
            return
        if verb.german:
            since = clause.subject.german
            if since is None and speaking and clause.is_left_with(verb):
                since = verb.start
            if since is not None and since <= verb.start:
                yield from self._claim(verb.kind, (since, verb.start), True)
            return
        goes_on = speaking and clause.after_adverbs == verb.start
        if clause.subject.english == verb.start or (goes_on and clause.is_determined(verb.end)):
            yield from self._claim(verb.kind, (verb.end, len(self.words)), True)

    def _told(self, verb: Verb, clause: "_Clause") -> Iterator[Claim]:
        """`The task was deleted.`, `Done: 3 tasks deleted.`"""
        if self._hedged(0, verb.start):
            return
        if about := self._passive(verb, clause) or clause.heading(verb):
            start = named_at(self.words, *about)
            yield from self._claim(verb.kind, (start, about[1]), False)

    def _passive(self, verb: Verb, clause: "_Clause") -> tuple[int, int] | None:
        """What it was done to, where a form of `to be` stands before the verb."""
        start, place = clause.start, verb.start
        present = bool(_DONE.at(self.words, self.first))
        if verb.german:
            before = self.words[max(start, place - FAR) : place]
            forms = _GERMAN_PRESENT if present else _GERMAN_PAST
            return None if forms.isdisjoint(before) else (start, place)
        while place > start and verb.start - place < 7 and self.words[place - 1] in _ADVERBS:
            place -= 1
        between = self.words[place : verb.start]
        if place == start or not _is_passive(self.words[place - 1], between, present):
            return None
        if named_at(self.words, start, place - 1) < place - 1:
            return start, place - 1
        return 0, start  # "The customer, Adatum, has been created": it may stand before the comma


class _Clause:
    """A part of a sentence, from word to word."""

    def __init__(self, words: Sequence[str], start: int, end: int) -> None:
        self.words, self.start, self.end = words, start, end
        self.first = first_word(words, start, end)
        self.subject = _Subject.of(words, self.first, end)
        self.after_adverbs = _after_adverbs(words, start, end)

    @property
    def speaks(self) -> bool:
        """Whether it is about what the model does."""
        return not {"i", "ich"}.isdisjoint(self.words[self.first : min(self.first + 2, self.end)])

    def is_left_with(self, verb: Verb) -> bool:
        """`Ich habe die Aufgabe gefunden und | sie gelöscht`."""
        before = self.words[self.start : verb.start][:2]
        ends = named_at(self.words, verb.end, self.end) == self.end
        return ends and before in ([], ["sie"], ["es"], ["ihn"])

    def heading(self, verb: Verb) -> tuple[int, int] | None:
        """What it was done to, where no other verb is: `Deleted all tasks`, `3 tasks deleted`."""
        if not self._may_be_heading:
            return None
        skipped = self.first < self.end and self.words[self.first] in _SUCCESS
        if self.first + skipped == verb.start and self.is_determined(verb.end):
            return verb.end, self.end
        after = named_at(self.words, verb.end, self.end)
        if after < self.end and self.words[after] in _SUCCESS:
            after = named_at(self.words, after + 1, self.end)
        return (self.start, verb.start) if verb.start > self.start and after == self.end else None

    @cached_property
    def _may_be_heading(self) -> bool:
        words = self.words[self.start : self.end]
        short = sum(map(len, words)) + len(words) <= HEADING
        return short and _OTHER_VERBS.isdisjoint(words) and record_in(words) is not None

    def is_determined(self, place: int) -> bool:
        """Whether `the`, a number or a name stands here."""
        if place >= len(self.words):
            return False
        word = self.words[place]
        known = word in _DETERMINERS or word == QUOTE or word[0].isdecimal()
        return known or number(word) is not None


class _Subject(NamedTuple):
    """Where the verb must stand in a clause that begins with `I`, by the form that it has."""

    english: int | None = None  # "I have just | created"
    german: int | None = None  # from here on: "ich habe | den Kunden angelegt"
    able: int | None = None  # "I was able to | add"

    @classmethod
    def of(cls, words: Sequence[str], place: int, end: int) -> "_Subject":
        for _ in range(2):
            place += _LEADS.at(words, place, end)
            place = named_at(words, place, end)
        pair = tuple(words[place : place + 2])
        if pair in (("ich", "habe"), ("habe", "ich")):
            return cls(german=place + 2)
        if not pair or pair[0] != "i":
            return cls()
        if able := _ABLE.at(words, place + 1, end):
            return cls(able=place + 1 + able)
        has = len(pair) > 1 and pair[1] in ("'ve", "have")
        return cls(english=_after_adverbs(words, place + 1 + has, end))


def named_at(words: Sequence[str], start: int, end: int) -> int:
    """The first place with more than a mark, `end` if there is none."""
    return next((p for p in range(start, end) if is_word(words[p]) or words[p] == QUOTE), end)


def _after_adverbs(words: Sequence[str], place: int, end: int) -> int:
    last = min(place + 3, end)
    while place < last and words[place] in _ADVERBS:
        place += 1
    return place


def _is_passive(auxiliary: str, between: Sequence[str], present: bool) -> bool:
    match auxiliary:
        case "was" | "were":
            return True
        case "has" | "have":
            return "been" in between
        case "is" | "are":
            return present or between[:1] == ["now"]
    return False
