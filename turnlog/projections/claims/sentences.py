"""Finds what sentences claim to have been done. Knows words, and nothing about tools.

Every expression is bounded and without nested repetition: an answer is written by a model,
and whatever it writes is read in a time that grows with its length only.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.projections.claims import words
from turnlog.projections.claims.words import DEEDS, Deed

LONGEST = 600  # characters of a sentence that may be a claim

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_QUOTED = re.compile(
    r"“[^“”\n]{1,300}”|\"[^\"\n]{1,300}\"|„[^„“”\n]{1,300}[“”]|(?<!\w)'[^'\n]{1,80}'(?!\w)"
)
_MARKS = re.compile(r"\*\*|__|`|^[ \t]*(?:[-*•]|\d{1,2}[.)]|#{1,6})[ \t]+", re.M)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s|$)|\n|$)")
_CLAUSE = re.compile(
    r",\s|;\s|:\s|!\s|\s?[–—]\s?|\s-\s|\s(?:and|but|so|then|und|aber|sowie|dann)\s", re.I
)
_ADVERBS = (
    r"(?:(?:just|now|also|successfully|then|finally|been|all|both|permanently|properly|safely|"
    r"only|subsequently|immediately|jetzt|nun|soeben|gerade|erfolgreich|auch)\s+){0,3}"
)
_LEAD = (
    r"(?:(?:yes|ok|okay|done|great|perfect|sure|alright|now|also|then|finally|additionally|first|"
    r"second|next|in addition|for you|ja|so|nun|jetzt|anschließend|außerdem|erledigt|"
    r"fertig)[\s.!]+){0,2}"
)
_DETERMINERS = (
    r"(?:it|them|the|your|all|both|this|that|these|those|an?|everything|his|her|its|their|each)\b|\d|“|"
    + "|".join(rf"{word}\b" for word in words.NUMBER_WORDS)
)
_HAVE = r"(?:['’]ve|\s+have)?"
RECORD = re.compile(rf"\b(?:{words.RECORDS})\b", re.I)
_HEDGE = re.compile(rf"(?<![\w’'])(?:{words.HEDGES})(?![\w])", re.I)
_NONE_OF_IT = re.compile(r"\s+(?:no|nothing|none|neither|not|any|keine?n?|nichts)\b", re.I)
_CONDITION = re.compile(
    r"\W*(?:if|when|once|unless|after|before|as soon as|wenn|falls|sobald|nachdem)\b", re.I
)
_SPEAKS = re.compile(r"\W*(?:\w+\s+)?(?:i|ich|habe ich)\b", re.I)
_DONE = re.compile(r"\W*(?:done|all set|success|erledigt|fertig)\b", re.I)
_OPENING = re.compile(r"^[^\w“]+")
_OTHER_VERB = re.compile(
    r"\b(?:i|is|are|was|were|has|have|be|here|see|ist|sind|hat|wurden?)\b", re.I
)


_WORD = re.compile(r"\w+")


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


# Regular expressions are slow to find nothing: only what holds one of its words is tried.
HINTS: dict[str, frozenset[str]] = {
    kind: frozenset(words_of(re.sub(r"\\b|\(\?[^)]*\)", " ", deed.english + "|" + deed.german)))
    for kind, deed in DEEDS.items()
}
_ABLE = frozenset({"able", "managed"})
_ANY_HINT = _ABLE.union(*HINTS.values())


class Forms(NamedTuple):
    """How one kind of work is claimed: by the model itself, in the passive, or in a heading."""

    active: re.Pattern[str]
    going_on: re.Pattern[str]  # "I found the task and | deleted it"
    passive: re.Pattern[str]
    present: re.Pattern[str]  # "Done: | the task is deleted"
    heading: re.Pattern[str]  # "3 tasks deleted"
    past: re.Pattern[str]
    asked: re.Pattern[str]


def _forms(deed: Deed) -> Forms:
    """One named group each marks the verb."""
    en, de = f"(?P<en>{deed.english})\\b", f"(?P<de>{deed.german})\\b"
    return Forms(
        active=_compiled(
            rf"^\W*{_LEAD}(?:i{_HAVE}\s+{_ADVERBS}{en}"
            rf"|i\s+(?:was able to|managed to)\s+(?P<base>{deed.asked})\b"
            rf"|(?:ich\s+habe|habe\s+ich)\s.{{0,150}}?\b{de})"
        ),
        going_on=_compiled(
            rf"^{_ADVERBS}{en}(?=\s+(?:{_DETERMINERS}))|^(?:sie |es |ihn )?{de}\W*$"
        ),
        passive=_compiled(
            rf"\b(?:(?:has|have)\s+{_ADVERBS}been|was|were|is now|are now)\s+{_ADVERBS}{en}"
            rf"|\bwurden?\b.{{0,120}}?\b{de}"
        ),
        present=_compiled(rf"\b(?:is|are)\s+{_ADVERBS}{en}|\b(?:ist|sind)\b.{{0,120}}?\b{de}"),
        heading=_compiled(
            rf"^\W*(?:successfully\s+)?(?P<head>{deed.english})(?=\s+(?:{_DETERMINERS}))"
            rf"|^.{{0,100}}?\s(?P<tail>{deed.english}|{deed.german})"
            r"(?:\s+successfully|\s+erfolgreich)?\W*$"
        ),
        past=_compiled(rf"\b(?:{deed.english}|{deed.german})\b"),
        asked=_compiled(rf"\b(?:{deed.asked})\b"),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)


FORMS: dict[str, Forms] = {kind: _forms(deed) for kind, deed in DEEDS.items()}


class Claim(NamedTuple):
    """Something that was done, as a sentence says."""

    kind: str
    sentence: str
    about: str  # the words that say what it was done to
    by_the_model: bool  # "I deleted", not "was deleted"

    @property
    def deed(self) -> Deed:
        return DEEDS[self.kind]


class Sentence(NamedTuple):
    """A sentence of an answer."""

    text: str  # as it was written
    plain: str  # of the same length, with the quotes blotted out

    @property
    def claims(self) -> list[Claim]:
        """At most one of each kind."""
        if self.text.endswith("?") or "|" in self.text or len(self.text) > LONGEST:
            return []
        found: dict[str, Claim] = {}
        for claim in _claims(self.plain):
            found.setdefault(claim.kind, claim)
        return list(found.values())


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of an answer, without code and markup."""
    text = _unmarked(text)
    for found in _SENTENCE.finditer(plain(text)):
        if found[0].strip():
            yield Sentence(text[slice(*found.span())].strip(), found[0].strip())


def plain(text: str) -> str:
    """What is said in the text's own words: quotes are blotted out."""
    return _QUOTED.sub(lambda quote: f"“{'…' * (len(quote[0]) - 2)}”", text)


def number(text: str) -> int:
    return int(text) if text.isdigit() else words.NUMBER_WORDS[text.lower()]


def _unmarked(text: str) -> str:
    lines = _FENCED.sub("\n", text).split("\n")
    return _MARKS.sub("", "\n".join(line for line in lines if line[:1] != ">"))


def _claims(sentence: str) -> Iterator[Claim]:
    kinds = kinds_hinted(words_of(sentence))
    if not kinds or _CONDITION.match(sentence):
        return
    speaking = False  # whether "I ..." stands before, and was no hedge
    for start, end in _clauses(sentence):
        clause = sentence[start:end]
        for kind in kinds:
            yield from _own(kind, sentence, (start, end), speaking)
            yield from _told(kind, sentence, (start, end))
        speaking = (speaking or _SPEAKS.match(clause) is not None) and not _HEDGE.search(clause)


def kinds_hinted(found: set[str]) -> list[str]:
    """The kinds of work that a text with these words may speak of."""
    if found.isdisjoint(_ANY_HINT):
        return []
    able = not found.isdisjoint(_ABLE)
    return [kind for kind, hints in HINTS.items() if able or not found.isdisjoint(hints)]


def _clauses(sentence: str) -> Iterator[tuple[int, int]]:
    start = 0
    for between in _CLAUSE.finditer(sentence):
        yield start, between.start()
        start = between.end()
    yield start, len(sentence)


def _own(kind: str, sentence: str, place: tuple[int, int], speaking: bool) -> Iterator[Claim]:
    """`I deleted the task`; in German, what it was done to stands before the verb."""
    clause, forms = sentence[slice(*place)], FORMS[kind]
    found = forms.active.match(clause) or (forms.going_on.match(clause) if speaking else None)
    if found is None:
        return
    start, end = found.span(found.lastgroup or 0)
    german = found.lastgroup == "de"
    rest = sentence[place[0] + end :]
    about = " " + clause[:start].split(" ", 2)[-1] if german else rest
    if not _HEDGE.search(clause[:start]) and not _NONE_OF_IT.match(about):
        yield Claim(kind, sentence, about, by_the_model=True)


def _told(kind: str, sentence: str, place: tuple[int, int]) -> Iterator[Claim]:
    """`The task was deleted.`, `Done: 3 tasks deleted.`"""
    clause, before = sentence[slice(*place)], sentence[: place[0]]
    forms = FORMS[kind]
    found = forms.passive.search(clause) or _heading(forms, clause)
    if found is None and _DONE.match(sentence):
        found = forms.present.search(clause)
    if found is None:
        return
    about = " " + _OPENING.sub("", _subject(found, clause, before))
    start = found.start(found.lastgroup or 0)
    if not _HEDGE.search(before + clause[:start]) and not _NONE_OF_IT.match(about):
        yield Claim(kind, sentence, about, by_the_model=False)


def _subject(found: re.Match[str], clause: str, before: str) -> str:
    match found.lastgroup:
        case "head":
            return clause[found.end("head") :]
        case "en":  # "The customer, Adatum, has been created": it may stand before the comma
            return clause[: found.start()].strip() or before
    return clause[: found.start(found.lastgroup or 0)]


def _heading(forms: Forms, clause: str) -> re.Match[str] | None:
    """A few words without any other verb."""
    if len(clause) > 120 or _OTHER_VERB.search(clause) or not RECORD.search(clause):
        return None
    return forms.heading.match(clause)
