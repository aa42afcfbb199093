"""What an answer tells of the user's records: how many there are ("you have 3 tasks"), and which
("Your tasks are: …").
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from turnlog.projections.claims import words as w
from turnlog.projections.claims.deeds import record_at
from turnlog.projections.claims.question import Question
from turnlog.projections.claims.results import Held
from turnlog.projections.claims.sense import record_after
from turnlog.projections.claims.text import QUOTE, Phrases, Sentence, is_word, number

MOST_ITEMS = 50  # of a list that are compared
FAR = 5  # words between the record and the colon: "Your tasks for today are:"
_COUNTABLE = Phrases(w.RECORDS).words
_NO_DATA, _UNASKED = Phrases(w.ABOUT_NO_DATA).words | {"|"}, Phrases(w.UNASKED)
_YOU_HAVE, _THERE_ARE, _IN_ALL = Phrases(w.YOU_HAVE), Phrases(w.THERE_ARE), Phrases(w.IN_ALL)
_JOINING = (_YOU_HAVE.words | _THERE_ARE.words | {"has"}) - {"you", "i", "your", "sie", "du"}
_COUNTS_END, _NARROWS, _STATES = (
    Phrases(w.COUNTS_END),
    Phrases(w.NARROWS).words,
    Phrases(w.STATES).words,
)
_YOURS, _IS, _FOLLOWING = Phrases(w.YOURS).words, Phrases(w.LIST_IS).words, Phrases(w.THE_FOLLOWING)
_ANNOUNCED, _AS_FOLLOWS = Phrases(w.LIST_BEGINS), Phrases("as follows|the following|folgende")
_BETWEEN_ITEMS = frozenset({",", ";", "and", "und"})
_HINTS = _YOURS | {"following", "these", "folgende", "folgenden"}


class Counted(NamedTuple):
    """A count, as an answer states it."""

    number: int
    record: str
    of_the_user: bool  # "you have", "I found"
    qualified: bool  # "3 overdue tasks": some of those that a result holds, perhaps
    by_state: bool  # ... of which only a tool can know
    unasked: bool  # "by the way"


def may_state(vocabulary: frozenset[str]) -> bool:
    """Whether there is a number, something that can be counted, and a word that joins them."""
    if vocabulary.isdisjoint(_JOINING) or vocabulary.isdisjoint(_COUNTABLE):
        return False
    return any(number(word) is not None for word in vocabulary)


def counts_of(sentence: Sentence) -> Iterator[Counted]:
    if not may_state(sentence.vocabulary) or not _tells(sentence):
        return
    unasked = _UNASKED.within(sentence.words)
    for place, word in enumerate(sentence.words):
        count = number(word)
        if count is not None and (opening := _opening(sentence.words, place)):
            record = record_after(sentence.words, place + 1)
            if record is not None:
                which = sentence.words[place + 1 : record]
                rest = record + record_at(sentence.words, record)
                plain = _ends(sentence.words, rest)
                yield Counted(
                    number=count,
                    record=sentence.words[record],
                    of_the_user=opening == "you have",
                    qualified=bool(which) or not plain,
                    by_state=bool(which) and plain and _STATES.issuperset(which),
                    unasked=unasked,
                )


def _opening(words: Sequence[str], place: int) -> str | None:
    """Who has them, as the words before the number say."""
    place -= _IN_ALL.before(words, place)
    if _YOU_HAVE.before(words, place):
        return "you have"
    somebody = place > 1 and words[place - 1] == "has" and is_word(words[place - 2])
    return "there are" if somebody or _THERE_ARE.before(words, place) else None


def _ends(words: Sequence[str], place: int) -> bool:
    """Whether nothing follows that says which ones are counted."""
    if place == len(words) or _COUNTS_END.at(words, place):
        return True
    if words[place] == ",":
        return _NARROWS.isdisjoint(words[place + 1 : place + 2])
    return words[place] in ("in", "on") and "list" in words[place + 2 : place + 4]


def misses(counted: Counted, held: Held, calls: int, written: int, question: Question) -> bool:
    """Whether the results hold counts, and this one cannot be made of them."""
    if held.lists_without_count(counted.record):
        return False  # text that may list anything in any form
    if not held.lengths and not held.numbers:
        return False
    if counted.qualified or counted.record[:4] not in question.asked_in_full:
        return counted.number > held.sum + calls
    return counted.number != calls and not held.may_count(counted.number, written)


# lists


class Listed(NamedTuple):
    """A list of records, as an answer gives it."""

    record: str
    items: list[str]  # all words of them
    unasked: bool  # "by the way"


def may_list(vocabulary: frozenset[str]) -> bool:
    return not vocabulary.isdisjoint(_HINTS) and not vocabulary.isdisjoint(_COUNTABLE)


def lists_at(sentences: Sequence[Sentence], place: int) -> Iterator[Listed]:
    """The list that the sentence at this place gives, or announces."""
    sentence = sentences[place]
    if not may_list(sentence.vocabulary) or not _tells(sentence):
        return
    if opening := _list_opening(sentence):
        record, end = opening
        below = takewhile(lambda s: s.is_item, sentences[place + 1 : place + 1 + MOST_ITEMS])
        items = [word for word in sentence.words[end:] if word == QUOTE or is_word(word)]
        if items := items or [word for item in below for word in item.words]:
            yield Listed(sentence.words[record], items, _UNASKED.within(sentence.words))


def _tells(sentence: Sentence) -> bool:
    """Whether it is about what is so: no question, no example, no row of a table."""
    return not sentence.asks and sentence.vocabulary.isdisjoint(_NO_DATA)


def _list_opening(sentence: Sentence) -> tuple[int, int] | None:
    """Where the record stands, and where the words end that announce the list."""
    words = sentence.words
    for place, word in enumerate(words):
        length = _FOLLOWING.at(words, place) or (word in _YOURS)
        record = record_after(words, place + length) if length else None
        if record is not None:
            announced = length > 1 or bool(_ANNOUNCED.before(words, place))
            if end := _end(sentence, record + 1, announced):
                return record, end
    return None


def _end(sentence: Sentence, start: int, announced: bool) -> int | None:
    """Where the items begin, if nothing else is said of the records."""
    words = sentence.words
    for place in range(start, min(start + FAR, len(words))):
        if words[place] == ":":
            return place + 1
        if words[place] in _IS and not announced:
            end = place + 1 + _AS_FOLLOWS.at(words, place + 1)
            if end == len(words) or words[end] == ":" or _names(sentence, end):
                return end
            return None
        if not is_word(words[place]):
            return len(words) if announced and place == len(words) - 1 else None
    return len(words) if announced and len(words) - start < FAR else None


def _names(sentence: Sentence, start: int) -> bool:
    """Whether names follow: `Buy milk and Call Bob`."""
    begins = True
    end = start + MOST_ITEMS
    for word, written in zip(sentence.words[start:end], sentence.written[start:end], strict=True):
        if begins and not (word == QUOTE or written[0].isupper()):
            return False
        begins = word in _BETWEEN_ITEMS
    return start < len(sentence.words)


def is_known(listed: Listed, known: frozenset[str]) -> bool:
    """Whether somebody spoke of an item. Short words tell nothing, numbers do."""
    telling = [word for word in listed.items if len(word) > 3 or word[-1].isdigit()]
    return not telling or not known.isdisjoint(telling)
