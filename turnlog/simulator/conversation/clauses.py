"""A question cut into clauses: one thing to do each, with its verb and what it is about."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .words import (
    COUNTED,
    EVERYTHING,
    FILLERS,
    PRONOUNS,
    READS,
    VERBS,
    WRITES,
    concept,
    content,
    tokens,
)

ARITHMETIC = re.compile(r"[-+(]*\d[\d.,\s()]*(?:[-+*/×÷x^](?=[\s\d(+-])[\s()+-]*\d[\d.\s()]*)+")
# fmt: off
# What the first words say about the verb, and the noun that they imply.
PHRASES: list[tuple[str, str, str]] = [
    (r"^order\s+(?!number|no\b|#)|^(?:buy|purchase)\s+\d",       "add",       "order"),
    (r"\bwhat (?:do|should|must) i (?:have to |need to )?do\b",   "list",      "task"),
    (r"\banything (?:left )?to do\b|\bmy (?:agenda|plate)\b",    "list",      "task"),
    (r"^sell (?:\d|an? )|^(?:invoice|bill) .+ for (?:\d|an? )",   "add",       "invoice"),
    (r"^(?!how many are in).*\bin (?:our )?stock\b|^how much (?:is|are|for) (?:an?|the|our) ",
                                                                 "find",      "item"),
    (r"\bbalance\b|\bowes? us\b",                               "find",      "customer"),
    (r"\bremind me\b|\bdon'?t (?:let me )?forget\b",             "add",       "task"),
    (r"^i (?:have|need) to (?!know|see|find|get|look|list|check|create|add|delete|change)",
                                                                 "add",       "task"),
    (r"\b(?:check|tick|cross) (?:.*\b)?off\b",                   "complete",  ""),
    (r"\bmark\b.*\b(?:not|un)[ -]?(?:done|completed?|finished)", "update",    ""),
    (r"\b(?:reopen|uncheck|untick)\b",                           "update",    ""),
    (r"\bmark\b.*\b(?:done|completed?|finished)\b",              "complete",  ""),
    (r"\b(?:is|are) (?:done|finished)\b(?!.*\?)",                "complete",  ""),
    (r"^i(?:'ve| have)? (?:did|done|finished|completed)\b",      "complete",  ""),
    (r"\bget rid of\b|\bthrow away\b",                           "remove",    ""),
    (r"\b(?:to|on|from|off) (?:my|the|our) (?:list|todos?)\b",   "",          "task"),
    (r"\b(?:change|set|rename|update|correct)\b.*\bto\b",        "update",    ""),
    (r"\bhow many\b|\bcount\b",                                  "list",      ""),
    (r"\bwhat(?:'s| is| are)? (?:on )?my\b|\bdo i have\b",       "list",      ""),
    (r"\blook(?:ing)? (?:for|up)\b|\bwho is\b",                  "find",      ""),
    (r"\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b",          "find",      "time"),
    (r"\b(?:what|which) (?:day|date) is (?:it|today)\b",         "find",      "time"),
]
POLITE = (r"^(?:(?:please|kindly|now|then|and|also|ok(?:ay)?|so|well|next|first|finally|"
          r"can you|could you|would you|will you|i want (?:you )?to|"
          r"i(?:'d| would) like (?:you )?to|"
          r"i need you to|let'?s|go ahead and|try to|help me)\b[\s,:]*)+")
# fmt: on
MOST_PIECES = 20
_POLITE = re.compile(POLITE, re.I)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|(?<!\w)'[^']+'(?!\w)|`[^`]*`")
_CUT = re.compile(
    r"(?:\s*[,;]\s*(?:and\s+)?(?:then\s+)?|[.!?]\s+|\s+and then\s+|\s+then\s+|\s+and also\s+"
    r"|\s+and\s+|\s+as well as\s+|\s+plus\s+(?!\d)|\s*\n+\s*)",
    re.I,
)


@dataclass(frozen=True)
class Clause:
    """One thing that the user wants."""

    text: str
    inherited: str | None = None  # the verb of the clause before, where this one has none

    @cached_property
    def plain(self) -> str:
        """Without politeness and without what stands in quotes."""
        return _POLITE.sub("", _QUOTED.sub(" ", self.text).strip())

    @cached_property
    def _phrase(self) -> tuple[str, str] | None:
        for pattern, verb, noun in PHRASES:
            if re.search(pattern, self.plain, re.I):
                return verb, noun
        return None

    @cached_property
    def own_verb(self) -> str | None:
        if self._phrase and self._phrase[0]:
            return self._phrase[0]
        verb, beside = _command(tokens(self.plain)), content(ARITHMETIC.sub(" ", self.plain))
        if self.arithmetic and len(beside) <= (1 if verb in WRITES else 2):
            return "calculate"
        return verb

    @property
    def verb(self) -> str | None:
        return self.own_verb or self.inherited

    @cached_property
    def nouns(self) -> list[str]:
        """Everything that it may be about, in order; the verb at the front is left out."""
        words = [concept(w) for w in tokens(self.plain) if w not in FILLERS]
        implied = [self._phrase[1]] if self._phrase and self._phrase[1] else []
        if words and words[0] == self.verb:
            words = words[1:]
        return implied + words

    @property
    def arithmetic(self) -> str | None:
        found = ARITHMETIC.search(self.plain)
        return found[0].strip() if found else None

    @property
    def everything(self) -> bool:
        return EVERYTHING.search(self.plain) is not None

    @property
    def counts(self) -> bool:
        return COUNTED.search(self.plain) is not None

    def is_plural(self, noun: str) -> bool:
        return any(concept(word) == noun and word.endswith("s") for word in tokens(self.plain))

    @property
    def points_back(self) -> bool:
        return (
            PRONOUNS.search(self.plain) is not None
            or re.search(
                r"\b(?:first|second|third|fourth|fifth|last(?! (?:week|month|quarter|year))|one)\b"
                r"|(?<![\w-])\d{1,3}(?:st|nd|rd|th)?(?![\w-])",
                self.plain,
                re.I,
            )
            is not None
        )

    @property
    def is_ordinal(self) -> bool:
        """`the second one`, and nothing else."""
        return re.fullmatch(r"\W*(?:\w+ )?the \w+ one\W*", self.plain, re.I) is not None

    @property
    def is_specific(self) -> bool:
        """Whether it names one: a number, something in quotes, or a word with a capital."""
        inner = re.sub(r"\b(?:first|top|last|latest|newest) \d+", "", self.text, flags=re.I)
        inner = inner.strip().partition(" ")[2]
        return bool(re.search(r"\d|[\"“„«`]|(?<!\w)[A-Z][\w&-]+", inner)) and not self.counts


def _command(words: list[str]) -> str | None:
    """The first verb. One that writes must be said up front: "tasks done well" orders nothing."""
    for at, word in enumerate(words[:8]):
        verb = concept(word)
        if verb in READS or (verb in WRITES and FILLERS.issuperset(words[:at])):
            return verb
    return None


def begins_with_verb(text: str) -> bool:
    words = tokens(_POLITE.sub("", text.strip()))
    return bool(words) and (
        concept(words[0]) in VERBS
        or words[0] in ("what", "who", "how", "which", "where", "when", "is", "are", "order", "buy")
    )


def cut(question: str, has_tool: Callable[[Clause], str | None]) -> list[Clause]:
    """The clauses of a question. `has_tool` names the tool that a clause would use, if any."""
    clauses: list[Clause] = []
    for glue, piece in _pieces(question):
        before = clauses[-1] if clauses else None
        if before is None:
            clauses.append(Clause(piece))
        elif (new := _own_clause(piece, before, has_tool)) is not None:
            clauses.append(new)
        else:
            clauses[-1] = Clause(before.text + glue + piece, before.inherited)
    return clauses


def _own_clause(
    piece: str, before: Clause, has_tool: Callable[[Clause], str | None]
) -> Clause | None:
    clause = Clause(piece)
    if begins_with_verb(piece) or clause.verb == "calculate":
        return clause if has_tool(clause) else None
    inheriting = Clause(piece, before.verb)
    tool = has_tool(inheriting)
    reads = before.verb in (None, "list", "find") and clause.own_verb in (None, "list", "find")
    return inheriting if reads and tool and tool != has_tool(before) else None


def _pieces(question: str) -> Sequence[tuple[str, str]]:
    """(what joined it to the piece before, the piece); nothing is cut inside of quotes."""
    quotes = [found.span() for found in _QUOTED.finditer(question)]
    pieces: list[tuple[str, str]] = []
    start, glue = 0, ""
    for found in _CUT.finditer(question):
        if any(a < found.start() < b for a, b in quotes) or not question[start : found.start()]:
            continue
        if len(pieces) == MOST_PIECES:
            break
        pieces.append((glue, question[start : found.start()]))
        start, glue = found.end(), found[0]
    return [*pieces, (glue, question[start:])]
