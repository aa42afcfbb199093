"""What a claim is about, and whether it is about work of this turn: as far as words tell.

Here the doubts live that make the check silent: work that an answer does by what it says
("I created a summary"), reports about records, and work of another time.
"""

from collections.abc import Sequence

from turnlog.projections.claims import words as w
from turnlog.projections.claims.deeds import Claim, named_at, record_at, record_in
from turnlog.projections.claims.question import Question
from turnlog.projections.claims.text import QUOTE, Phrases, Sentence, is_word, number

_WRITINGS, _BACK, _FRESH = Phrases(w.WRITINGS).words, Phrases(w.BACK), Phrases(w.FRESH).words
_HERE, _DATES, _BEFORE_DATE = (
    Phrases(w.POINTS_HERE),
    Phrases(w.DATES),
    Phrases(w.BEFORE_A_DATE).words,
)
_PRONOUNS, _AFTER_PRONOUN = Phrases(w.PRONOUNS).words, Phrases(w.AFTER_A_PRONOUN).words
_FOR_ALL = Phrases("for you|both|all")
_WHOLE_OF, _NOT_BETWEEN = Phrases(w.WHOLE_OF), Phrases(w.NOT_BETWEEN)
_PART_BEGINS, _NO_PART = Phrases(w.PART_BEGINS).words, Phrases(w.NO_PART).words
_PART_OF, _INTO = Phrases(w.PART_OF).words, Phrases(w.INTO).words
_BEFORE_NAME, _BEFORE_ID = Phrases(w.BEFORE_A_NAME).words, Phrases(w.BEFORE_AN_ID).words
_BEFORE_MANY = Phrases("all|the|your|these|those|alle|die|of").words
_JOINTS = frozenset("#.&-'…")  # marks that may stand inside of a name
_SPEAKERS = frozenset({"me", "you", "mir", "ihnen", "dir"})
_ID_LETTERS = frozenset("0123456789abcdef-")


def refers_back(claim: Claim) -> bool:
    return _BACK.within(claim.sentence.words)


def is_fresh(claim: Claim) -> bool:
    return not _FRESH.isdisjoint(claim.sentence.vocabulary)


def is_dated(claim: Claim) -> bool:
    """With a date or a doer it tells of a record's past."""
    sentence = claim.sentence
    return any(_dates(sentence, place) for place in range(len(sentence.words)))


def _dates(sentence: Sentence, place: int) -> bool:
    word, following = sentence.words[place], sentence.words[place + 1 : place + 3]
    if word[:4].isdecimal() and word[4:5] == "-":  # 2026-01-05
        return True
    if word in _BEFORE_DATE:
        return any(each[0].isdecimal() for each in following)
    if word in ("by", "von") and following and following[0] not in _SPEAKERS:
        named = sentence.written[place + 1][0]
        return named.isalnum() if word == "by" else named.isupper()
    return bool(_DATES.at(sentence.words, place)) or (word[0].isdecimal() and word.count(".") > 1)


def many(claim: Claim) -> int | None:
    """How many things the work was done to, where it says so."""
    about = _about(claim)
    place = 0
    while place < min(2, len(about)) and about[place] in _BEFORE_MANY:
        place += 1
    if place == len(about) or (many := number(about[place])) is None:
        return None
    return many if record_after(about, place + 1) is not None else None


def record_after(words: Sequence[str], place: int) -> int | None:
    """Where a record is named, with two words before it at the most."""
    for record in range(place, min(place + 3, len(words))):
        if record_at(words, record):
            return record
        if not is_word(words[record]):
            return None
    return None


def new_id(claim: Claim) -> str | None:
    """`created the invoice INV-1001`: the id that it was given, as it was written."""
    about, place, named = _about(claim), 0, 0
    while place < len(about) and named < 6 and not is_id(about[place]):
        length = record_at(about, place) or (about[place] in _BEFORE_ID)
        if not length:
            return None
        place, named = place + length, named + 1
    return claim.sentence.written[claim.about[0] + place] if named and place < len(about) else None


def is_id(word: str) -> bool:
    """`S-ORD101001`, `103241`, a UUID; a year is none."""
    if len(word) == 36:
        return word.count("-") == 4 and _ID_LETTERS.issuperset(word)
    if len(word) > 20:
        return False
    letters = word.rstrip("0123456789")
    digits = len(word) - len(letters)
    if not letters:
        return 4 <= digits <= 10 and not (digits == 4 and word[:2] in ("19", "20"))
    head, _, tail = letters.partition("-")
    plain = head.isalpha() and head.isascii() and (not tail or (tail.isalpha() and tail.isascii()))
    return digits >= 3 and plain and len(head) <= 10 and len(tail) <= 4


def was_wanted(claim: Claim, question: Question) -> bool:
    """Whether the user asked for it in this turn, or said yes to it."""
    return question.says_yes or claim.kind in question.requested


def was_asked_about(claim: Claim, question: Question) -> bool:
    """`Did you delete it?` asks for no work; the answer is about another turn's."""
    return claim.kind in question.tells_of and claim.kind not in question.requested


def is_about_records(claim: Claim, question: Question) -> bool:
    """Whether only a tool can have done this, and not the answer by what it says."""
    if _HERE.within(claim.sentence.words):
        return False
    about = _about(claim)
    pronoun = _pronoun(about)
    if claim.kind == "canceled" and named_at(about, pronoun, len(about)) == len(about):
        return question.names_a_record  # else it is what was being talked about
    if not claim.deed.of_records or _is_done_to_a_record(claim):
        return True
    if not _WRITINGS.isdisjoint(about) or question.names_a_writing:
        return False
    if pronoun:
        return question.names_a_record or claim.kind in ("deleted", "completed")
    return _is_done_to_what_was_named(claim, question)


def _about(claim: Claim) -> list[str]:
    return claim.sentence.words[slice(*claim.about)]


def _pronoun(words: list[str]) -> int:
    """How many words at the beginning only point at what was named before."""
    for start in {_FOR_ALL.at(words, 0), 0}:
        one = words[start : start + 1] == ["the"] and words[start + 2 : start + 3] == ["one"]
        end = start + (3 if one else 1)
        points = one or not _PRONOUNS.isdisjoint(words[start : start + 1])
        if points and (end >= len(words) or words[end] in _AFTER_PRONOUN):
            return end + 1
    return 0


def _is_done_to_a_record(claim: Claim) -> bool:
    about = _about(claim)
    record = record_in(about)
    if record is None or not _WRITINGS.isdisjoint(about[:record]):
        return False
    written = claim.sentence.written[slice(*claim.about)]
    return _leads_to_it(claim.kind, about[:record], written) and not _is_compound(about, record)


def _leads_to_it(kind: str, between: list[str], written: Sequence[str]) -> bool:
    """Whether a record that stands after these words is what the work was done to."""
    if _only_determines(between):
        return True
    if kind not in ("created", "deleted"):
        return _is_part_of(between)
    into = next((p for p in range(len(between) - 1, 0, -1) if between[p] in _INTO), 0)
    if not into or len(between) - into > 4:
        return False
    return _name(between, written) > 0 or _pronoun(between[:into]) > 0


def _only_determines(between: Sequence[str]) -> bool:
    """`the new sales (order)`, `all of your (tasks)`."""
    place = units = 0
    while place < len(between):
        word = between[place]
        length = _WHOLE_OF.at(between, place)
        if not length and (_NOT_BETWEEN.at(between, place) or not _may_be_in_name(word)):
            return False
        place += length or 1
        units += word[0] not in _JOINTS
    return units <= 6


def _may_be_in_name(word: str) -> bool:
    return is_word(word) or word == QUOTE or word[0] in _JOINTS


def _is_part_of(between: Sequence[str]) -> bool:
    """`the phone number of the (customer)`."""
    if len(between) < 3 or len(between) > 9 or between[0] not in _PART_BEGINS:
        return False
    if between[1] in _NO_PART or not all(map(_may_be_in_name, between)):
        return False
    return any(
        between[p] in _PART_OF and len(between) - p <= 5 for p in range(2, min(5, len(between)))
    )


def _is_compound(words: Sequence[str], record: int) -> bool:
    """`task list` and `invoice email` are writings."""
    end = record + record_at(words, record)
    return end < len(words) and words[end] in _WRITINGS and words[end - 1] != "list"


def _name(words: Sequence[str], written: Sequence[str]) -> int:
    """Where a name ends that stands at the beginning, perhaps after an article; 0: nowhere."""
    place = start = int(bool(words) and words[0] in _BEFORE_NAME)
    if start < len(words) and words[start] == QUOTE:
        return start + 1
    while place < min(start + 5, len(words)) and written[place][0].isupper():
        place += 1
    return place if place > start else 0


def _is_done_to_what_was_named(claim: Claim, question: Question) -> bool:
    """`Deleted Buy milk`, where the user had named it so."""
    about, written = _about(claim), claim.sentence.written[slice(*claim.about)]
    end = _name(about, written)
    if not end or not was_wanted(claim, question):
        return False
    name = about[int(about[0] in _BEFORE_NAME) : end]
    return name[0] == QUOTE or question.vocabulary.issuperset(name)
