"""Values found in a text, each cut out of it: quotes, numbers, dates, addresses, choices."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeVar

from .clauses import ARITHMETIC
from .schema import words_of
from .words import concept, numbered, tokens

T = TypeVar("T")
NUMBER_WORDS = numbered("zero one two three four five six seven eight nine ten eleven twelve")
MONTHS = list(numbered("jan feb mar apr may jun jul aug sep oct nov dec"))
DAYS = list(numbered("monday tuesday wednesday thursday friday saturday sunday"))
# Choices that people say in other words than the schema does.
CHOICES = {
    "completed": "done finished complete closed ticked",
    "pending": "open todo unfinished incomplete outstanding active remaining undone",
    "open": "pending unpaid unfinished active outstanding",
    "high": "urgent important critical",
    "low": "unimportant minor",
    "company": "business firm corporation",
}
NUMBER = re.compile(
    rf"(?<![\w.-])(-?\d+(?:[.,]\d+)*|{'|'.join(NUMBER_WORDS)})(?![\w-])(?!\.\d)", re.I
)
# `with the email address x@y`: the words before go with the value.
_LEAD = (
    r"(?:(?:\b(?:with|and|the|an?|under)\s+)*\b(?:{0})"
    r"(?:\s+(?:address|date|is|on|by|to))*\s*[:=]?\s*)?"
)
QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`"
)
EMAIL = re.compile(_LEAD.format("e-?mail|mail") + r"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.I)
URL = re.compile(_LEAD.format("website|url|link|homepage") + r"((?:https?://|\bwww\.)[^\s,;\"”]+)")
PHONE = re.compile(r"\+?\(?\d[\d\s()/.-]{4,}\d")
_DUE = _LEAD.format("due|by|until|before|deadline|on")
ISO_DATE = re.compile(_DUE + r"\b(\d{4})-(\d{2})-(\d{2})\b")
LONG_DATE = re.compile(
    rf"{_DUE}\b(\d{{1,2}})(?:st|nd|rd|th|\.)? ({'|'.join(MONTHS)})[a-z]*\.?,?(?: (\d{{4}}))?\b",
    re.I,
)
LONG_DATE_US = re.compile(
    rf"{_DUE}\b({'|'.join(MONTHS)})[a-z]*\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b", re.I
)
NEARBY = re.compile(
    rf"{_DUE}\b(?:(today|tomorrow|yesterday)|(?:next |this |on )?({'|'.join(DAYS)}))\b", re.I
)
_END = r"(?=\s*(?:[,;\n]|\band\b|\bwith\b|\bin\b|\bfor\b|\bto\b|\bby\b|$))"


@dataclass
class Scrap:
    """A text that becomes shorter as values are found in it."""

    text: str
    today: date

    def take(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], T | None]) -> T | None:
        """The first match that can be read, cut out of the text."""
        for found in pattern.finditer(self.text):
            value = read(found)
            if value is not None:
                self.cut(*found.span())
                return value
        return None

    def cut(self, start: int, end: int) -> None:
        self.text = f"{self.text[:start].rstrip()} {self.text[end:].lstrip()}".strip()


def quoted(scrap: Scrap) -> str | None:
    return scrap.take(QUOTED, lambda found: next(filter(None, found.groups()), None))


def number(scrap: Scrap, whole: bool) -> float | int | None:
    return scrap.take(NUMBER, lambda found: _number(found[1], whole))


def _number(text: str, whole: bool) -> float | int | None:
    if text.lower() in NUMBER_WORDS:
        return NUMBER_WORDS[text.lower()]
    plain = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
    try:
        value = float(plain)
    except ValueError:  # 1.2.3
        return None
    return int(value) if whole or value.is_integer() else value


def email(scrap: Scrap) -> str | None:
    return scrap.take(EMAIL, lambda found: found[1])


def url(scrap: Scrap) -> str | None:
    return scrap.take(URL, lambda found: found[1].rstrip("."))


def expression(scrap: Scrap) -> str | None:
    found = scrap.take(ARITHMETIC, lambda found: found[0].strip())
    return re.sub(r"(?<=[\d\s)])x(?=[\s\d(])|×", "*", found).replace("÷", "/") if found else None


def day(scrap: Scrap) -> str | None:
    """An ISO date: written out, or counted from today."""
    today = scrap.today
    readers: list[tuple[re.Pattern[str], Callable[[re.Match[str]], date | None]]] = [
        (ISO_DATE, lambda f: _date(int(f[1]), int(f[2]), int(f[3]))),
        (LONG_DATE, lambda f: _date(int(f[3] or today.year), _month(f[2]), int(f[1]))),
        (LONG_DATE_US, lambda f: _date(int(f[3] or today.year), _month(f[1]), int(f[2]))),
        (NEARBY, lambda f: _nearby(f, today)),
    ]
    for pattern, read in readers:
        if found := scrap.take(pattern, read):
            return str(found)
    return None


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _date(year: int, month: int, at: int) -> date | None:
    try:
        return date(year, month, at)
    except ValueError:
        return None


def _nearby(found: re.Match[str], today: date) -> date | None:
    word = (found[1] or found[2]).lower()
    if word in DAYS:
        ahead = (DAYS.index(word) - today.weekday()) % 7 or 7
    else:
        ahead = {"today": 0, "tomorrow": 1, "yesterday": -1}[word]
    try:
        return today + timedelta(days=ahead)
    except OverflowError:
        return None


def choice(scrap: Scrap, allowed: list[Any]) -> Any:
    """The allowed value that the text names, by itself or in other words."""
    for value in allowed:
        words = [str(value), words_of(str(value)), *CHOICES.get(str(value).lower(), "").split()]
        for word in filter(None, words):
            pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.I)
            if scrap.take(pattern, lambda found: found[0]) is not None:
                return value
    return None


def after_its_name(scrap: Scrap, name: str, value: str) -> str | None:
    """What follows the parameter's own name: `email: x`, `with priority high`, `name is X`."""
    words = r"[\s_-]?".join(map(re.escape, words_of(name).split()))
    if not words:
        return None
    lead = r"(?:\b(?:with|and|the|a|an|has|its|whose|set|under)\s+)*"
    of = "|of" if value == DIGITS else ""
    link = rf"(?:\s*[:=]\s*|\s+(?:is|are|as|to{of}|should be)\s+|\s+)"
    pattern = re.compile(rf"{lead}\b{words}\b{link}({value})", re.I)
    return scrap.take(pattern, lambda found: found[1].strip(" \"'“”"))


DIGITS = r"-?\d[\d.,]*"
WORDS = r"[\"“][^\"”]+[\"”]|[^,;\n]+?" + _END


def mentions(text: str, name: str) -> bool:
    said = {concept(token) for token in tokens(text)}
    return all(concept(word) in said for word in words_of(name).split())
