"""What a claim is about, and whether it is about work of this turn: as far as words tell.

Here the doubts live that make the check silent: work that an answer does by what it says
("I created a summary"), reports about records, and work of another time.
"""

import re
from collections.abc import Iterator

from turnlog.projections.claims import words
from turnlog.projections.claims.sentences import (
    FORMS,
    RECORD,
    Claim,
    number,
)

_WRITING = re.compile(rf"\b(?:{words.WRITINGS})\b", re.I)
_BACK = re.compile(rf"\b(?:{words.BACK})\b", re.I)
_DATED = re.compile(
    r"\b(?:on|in|at|since|am|im|vom|seit|um) (?:\w+ )?\d|\d{4}-\d\d|\d{1,2}[./]\d{1,2}[./]|"
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|today at|"
    r"januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|mittwoch|donnerstag|"
    r"freitag|samstag|sonntag)\b|\bby (?!me\b|you\b)\w|\bvon (?!mir\b|ihnen\b|dir\b)[A-ZÄÖÜ]",
)
_POINTS_HERE = re.compile(r"\b(?:above|below|oben|unten|mentally|in this chat)\b", re.I)
_FRESH = re.compile(r"\b(?:just|now|also|successfully|jetzt|nun|soeben|gerade|erfolgreich)\b", re.I)
_PRONOUN = re.compile(
    r"^\s*(?:(?:for you|both|all) )?(?:it|them|this|that|these|those|all|both|everything|"
    r"each|they|the \w+ one|sie|es|ihn|alle|beide|alles|diese[nrs]?)\b"
    r"(?:\s*$|\s*[.!,]|\s+(?:of|for|from|as|to|now|too|successfully|have|has|was|were|wurden?|erfolgreich)\b)",
    re.I,
)
_DETERMINED = re.compile(  # words that may stand between the verb and what it was done to
    r"^\s+(?:(?:(?:copy|all|both|each|one) of|"
    r"(?!(?:of|for|to|in|on|with|from|about|by|per|at|into|up|some|your own)\b)"
    r"[\w#'’.&“”…-]+)\s+){0,6}$",
    re.I,
)
_PART_OF = re.compile(
    r"^\s+(?:the|its|their|your|his|her|den|die|das)\s+"
    r"(?!order\b|sequence|sort|layout|format|grouping|wording|way\b|reihenfolge)(?:[\w-]+\s+){1,3}"
    r"(?:of|for|on|in|from|to|at|as|für|von|der|des|auf)\s+(?:[\w#'’.&“”-]+\s+){0,4}$",
    re.I,
)
_NAMED = re.compile(r"^\s+(?:the |a |an |new |den |die |das )?(“…*”|(?:[A-ZÄÖÜ][\w'’-]*\s?){1,5})")
_INTO = re.compile(r"^\s+(?P<what>[^.!?\n]{1,80}?)\s+(?:to|from|zu|aus|von)\s+(?:[\w-]+\s+){0,3}$")
_MANY = re.compile(
    r"^\s+(?:all |the |your |these |those |alle |die )?(?:of )?(?P<n>\d{1,4}|"
    + "|".join(words.NUMBER_WORDS)
    + rf")\s+(?:[\w-]+\s+){{0,2}}(?:{words.RECORDS})\b",
    re.I,
)
_SPLIT_REQUEST = re.compile(r"[,;:]\s|\s(?:and|then|und|dann)\s", re.I)
_OPENS_QUESTION = re.compile(rf"^\s*(?:{words.OPENS_A_QUESTION})\b", re.I)
_ADVICE = re.compile(rf"\b(?:{words.ASKS_FOR_ADVICE})\b", re.I)
_GO_AHEAD = re.compile(rf"^\W*(?:{words.GO_AHEAD})\b", re.I)
_THANKS = re.compile(r"\b(?:thanks?|thank you|danke|thx)\b", re.I)


def refers_back(claim: Claim) -> bool:
    return _BACK.search(claim.sentence) is not None


def is_fresh(claim: Claim) -> bool:
    return _FRESH.search(claim.sentence) is not None


def is_dated(claim: Claim) -> bool:
    """With a date or a doer it tells of a record's past."""
    return _DATED.search(claim.sentence) is not None


def many(claim: Claim) -> int | None:
    """How many things the work was done to, where it says so."""
    found = _MANY.match(claim.about)
    return number(found["n"]) if found else None


def is_told_by(claim: Claim, text: str) -> bool:
    """Whether a result speaks of such work: a status, a date of creation."""
    return re.search(f"{claim.deed.english}|{claim.deed.german}", text, re.I) is not None


def was_wanted(claim: Claim, question: str) -> bool:
    """Whether the user asked for it in this turn, or said yes to it."""
    if _GO_AHEAD.match(question) and len(question) < 80 and not _THANKS.search(question):
        return True
    return _is_requested(claim, question)


def was_asked_about(claim: Claim, question: str) -> bool:
    """`Did you delete it?` asks for no work; the answer is about another turn's."""
    past = FORMS[claim.kind].past.search(question)
    return past is not None and not _is_requested(claim, question)


def is_about_records(claim: Claim, question: str) -> bool:
    """Whether only a tool can have done this, and not the answer by what it says."""
    if _POINTS_HERE.search(claim.sentence):
        return False
    if claim.kind == "canceled" and not re.search(r"\w", _PRONOUN.sub("", claim.about, count=1)):
        return RECORD.search(question) is not None  # else it is what was being talked about
    if not claim.deed.of_records or _is_done_to_a_record(claim):
        return True
    if _WRITING.search(claim.about) or _WRITING.search(question):
        return False
    if _PRONOUN.match(claim.about):
        return bool(RECORD.search(question)) or claim.kind in ("deleted", "completed")
    return _is_done_to_what_was_named(claim, question)


def _is_done_to_a_record(claim: Claim) -> bool:
    about = claim.about
    record, writing = RECORD.search(about), _WRITING.search(about)
    if record is None or (writing and writing.start() < record.start()):
        return False
    return _leads_to_it(claim.kind, about[: record.start()]) and not _is_compound(about, record)


def _leads_to_it(kind: str, between: str) -> bool:
    """Whether a record that stands after these words is what the work was done to."""
    if _DETERMINED.match(between):
        return True
    if kind in ("created", "deleted"):
        into = _INTO.match(between)
        return into is not None and bool(_NAMED.match(between) or _PRONOUN.match(into["what"]))
    return _PART_OF.match(between) is not None


def _is_compound(text: str, record: re.Match[str]) -> bool:
    """`task list` and `invoice email` are writings."""
    following = _WRITING.match(text[record.end() :].lstrip())
    return following is not None and not record[0].lower().endswith("list")


def _is_done_to_what_was_named(claim: Claim, question: str) -> bool:
    """`Deleted Buy milk`, where the user had named it so."""
    named = _NAMED.match(claim.about)
    if named is None or not was_wanted(claim, question):
        return False
    return named[1][0] == "“" or named[1].strip().lower() in question.lower()


def _is_requested(claim: Claim, question: str) -> bool:
    return any(FORMS[claim.kind].asked.search(piece) for piece in _requests(question))


def _requests(question: str) -> Iterator[str]:
    """The pieces of a question that may ask for work."""
    for sentence in re.split(r"[.!?]\s|[?\n]", question):
        if not _ADVICE.search(sentence):
            pieces = _SPLIT_REQUEST.split(sentence)
            yield from (piece for piece in pieces if not _OPENS_QUESTION.match(piece))
