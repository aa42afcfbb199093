"""What the user asks for: work, words, a look at records, or nothing at all."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from turnlog.projections.claims import words as w
from turnlog.projections.claims.deeds import ASKED, ENGLISH, GERMAN, record_at, record_in
from turnlog.projections.claims.text import Phrases, Sentence, first_word, numbers_in, sentences

_JOINS = frozenset({"and", "then", "und", "dann"})
_OPENS, _ADVICE = Phrases(w.OPENS_A_QUESTION), Phrases(w.ASKS_FOR_ADVICE).words
_GO_AHEAD, _THANKS = Phrases(w.GO_AHEAD), Phrases(w.THANKS).words
_WORDS, _WRITINGS = Phrases(w.ASKS_FOR_WORDS).words, Phrases(w.WRITINGS).words
_OWN, _IDEAS, _GREETINGS = (
    Phrases(w.ONES_OWN),
    Phrases(w.ASKS_FOR_IDEAS, but=w.GREETINGS),  # "How are you?" asks for none
    Phrases(w.GREETINGS),
)
_ALL, _AFTER_ALL = Phrases(w.ALL_OF_THEM).words, Phrases(w.AFTER_ALL_OF_THEM)


class Question:
    """All that the user wrote in this turn; quotes are not his own words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sentences: Sequence[Sentence] = list(sentences(text))
        self.words = [word for sentence in self._sentences for word in sentence.words]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def requested(self) -> frozenset[str]:
        """The kinds of work that it asks for."""
        places = (place for piece in self._requests() for place in ASKED.all(piece))
        return frozenset(kind for _, _, kind in places)

    def _requests(self) -> Iterator[Sequence[str]]:
        """The pieces that may ask for work."""
        for sentence in self._sentences:
            if _ADVICE.isdisjoint(sentence.vocabulary):
                for start, end in sentence.clauses(_JOINS):
                    if not _OPENS.at(sentence.words, start, end):
                        yield sentence.words[start:end]

    @cached_property
    def tells_of(self) -> frozenset[str]:
        """The kinds of work that it speaks of as done: `Did you delete it?` is no such."""
        verbs = (*ENGLISH.all(self.words), *GERMAN.all(self.words))
        return frozenset(kind for _, _, kind in verbs)

    @cached_property
    def says_yes(self) -> bool:
        """`Go ahead`, `yes please`: whatever was offered is wanted."""
        first = first_word(self.words, 0, len(self.words))
        agrees = len(self._text) < 80 and bool(_GO_AHEAD.at(self.words, first))
        return agrees and _THANKS.isdisjoint(self.vocabulary)

    @cached_property
    def names_a_record(self) -> bool:
        return record_in(self.words) is not None

    @cached_property
    def names_a_writing(self) -> bool:
        return not _WRITINGS.isdisjoint(self.vocabulary)

    @cached_property
    def asks_for_words(self) -> bool:
        return not _WORDS.isdisjoint(self.vocabulary)

    @cached_property
    def asks_for_ideas(self) -> bool:
        """Something new, or advice: what is listed then is the answer's own."""
        return self.asks_for_words or _IDEAS.within(self.words)

    @cached_property
    def is_of_ones_own(self) -> bool:
        """`my`, `do we have`."""
        return _OWN.within(self.words)

    @cached_property
    def greets(self) -> bool:
        return len(self._text) < 80 and _GREETINGS.within(self.words)

    @cached_property
    def tells_much(self) -> bool:
        """Long enough to have told of records."""
        long = len(self._text) > 200 or "\n" in self._text.strip()
        return long or self.words.count(",") > 1

    @cached_property
    def numbers(self) -> frozenset[int]:
        return numbers_in(self.words)

    @cached_property
    def has_digits(self) -> bool:
        return any(character.isdecimal() for character in self._text)

    @cached_property
    def asked_in_full(self) -> frozenset[str]:
        """Stems of records of which all are asked for: no choice of the model's is in the way."""
        return frozenset(self._in_full())

    def _in_full(self) -> Iterator[str]:
        for place, word in enumerate(self.words):
            if word not in _ALL:
                continue
            after = place + 1
            while after < min(place + 2, len(self.words)) and self.words[after] in _ALL:
                after += 1  # "all my tasks"
            length = record_at(self.words, after)
            if length and (
                after + length == len(self.words) or _AFTER_ALL.at(self.words, after + length)
            ):
                yield self.words[after][:4]
