"""Counts that an answer states ("you have 3 tasks"), and whether results can hold them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnlog.projections.claims import words
from turnlog.projections.claims.grounds import Call, Held
from turnlog.projections.claims.sentences import number, words_of

_N = r"(?P<n>\d{1,4}(?![.,]?\d)|" + "|".join(words.NUMBER_WORDS) + ")"
_OPENINGS = (
    r"(?P<own>you\s+(?:currently\s+|now\s+|only\s+|still\s+)?have|you['’]ve\s+got|"
    r"i(?:\s+have|['’]ve)?\s+(?:found|counted|retrieved|see)|(?:sie|du)\s+(?:haben|hast)(?:\s+aktuell)?)|"
    r"there\s+(?:are|is)(?:\s+currently)?|\b[\w&]+\s+has|here\s+are\s+your|es\s+gibt|hat"
)
_STATED = re.compile(
    rf"\b(?:{_OPENINGS})\s+(?:a\s+total\s+of\s+|exactly\s+|insgesamt\s+)?{_N}\s+"
    rf"(?P<which>(?:[\w-]+\s+){{0,2}}?)(?P<record>{words.RECORDS})\b(?P<rest>[^.!?\n]{{0,80}})",
    re.I,
)
_JOINING = words_of("have got found counted retrieved see are is has haben hast hat gibt")
_COUNTABLE = words_of(words.RECORDS.replace("s?", "")) | words_of(words.RECORDS.replace("?", ""))
_PLAIN_REST = re.compile(
    r"\s*$|\s*[.!:;)]|\s*,(?! (?:that|which|who|due|with|die|das)\b)|"
    r"\s+(?:in total|in all|altogether|right now|at the moment|insgesamt|"
    r"(?:in|on) your (?:[\w-]+ )?list|gefunden|and\b|und\b)",
    re.I,
)
_ALL = re.compile(
    r"\b(?:my|our|all|the|many|alle|meine|unsere|viele)\s+(?:the\s+|my\s+|our\s+|meine\s+)?"
    rf"(?P<record>{words.RECORDS})(?=\s*[?.!]?$|\s*[?.!,]\s|"
    r"\s+(?:do|does|are there|have|exist|are in|please|bitte|habe|haben|gibt)\b)",
    re.I,
)
_ABOUT_NO_DATA = re.compile(
    r"\b(?:if|suppose|imagine|assume|say|each|every|example|would|could|can|should|not|n['’]t|typically|usually|often|"
    r"wenn|falls|beispiel|könnte|nicht)\b",
    re.I,
)


class Counted(NamedTuple):
    """A count, as an answer states it."""

    number: int
    record: str
    of_the_user: bool  # "you have", "I found"
    qualified: bool  # "3 overdue tasks": some of those that a result holds, perhaps


def may_state(found: set[str]) -> bool:
    """Whether there is a number, something that can be counted, and a word that joins them."""
    if found.isdisjoint(_JOINING) or found.isdisjoint(_COUNTABLE):
        return False
    return not found.isdisjoint(words.NUMBER_WORDS) or any(map(str.isdecimal, found))


def stated(sentence: str) -> Iterator[Counted]:
    if (
        not may_state(words_of(sentence))
        or sentence.endswith("?")
        or "|" in sentence
        or _ABOUT_NO_DATA.search(sentence)
    ):
        return
    for found in _STATED.finditer(sentence):
        qualified = bool(found["which"]) or not _PLAIN_REST.match(found["rest"])
        yield Counted(number(found["n"]), found["record"], bool(found["own"]), qualified)


def misses(counted: Counted, held: Held, calls: Sequence[Call], question: str) -> bool:
    """Whether the results hold counts, and this one cannot be made of them."""
    if any(not _counts(text, counted.record) for text in held.loose):
        return False  # text that may list anything in any form
    if not held.lengths and not held.numbers:
        return False
    if counted.qualified or not _asks_for_all(counted.record, question):
        return counted.number > sum(held.lengths) + sum(held.numbers) + len(calls)
    return counted.number not in _possible(held, calls)


def _asks_for_all(record: str, question: str) -> bool:
    """Whether the question is about all of them, so that no choice of the model's is in the way."""
    found = _ALL.search(question)
    return found is not None and found["record"][:4].lower() == record[:4].lower()


def _counts(text: str, record: str) -> bool:
    """Whether the text itself says how many there are."""
    stem = re.escape(record[:5])
    n = r"\d{1,4}|" + "|".join(words.NUMBER_WORDS)
    return re.search(rf"\b(?:{n})\s+(?:[\w-]+\s+){{0,2}}{stem}", text[:2000], re.I) is not None


def _possible(held: Held, calls: Sequence[Call]) -> set[int]:
    """Every count that somebody who reads the results may come to."""
    written = sum(not call.reads for call in calls)
    lines = [len(text.splitlines()) for text in held.loose]
    commas = [text.count(",") + 1 for text in held.loose]
    said = [n for text in held.loose for word, n in words.NUMBER_WORDS.items() if word in text]
    lengths = [*held.lengths, sum(held.lengths), *lines, *commas]
    after_writes = (n + change for n in lengths for change in range(-written, written + 1))
    return {*after_writes, *held.groups, *held.numbers, sum(held.numbers), len(calls), *said}
