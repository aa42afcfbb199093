"""Words as the simulator compares them: lower case, singular, one concept for all synonyms.

The tables are the whole vocabulary; docs/simulator.md is generated from them.
"""

import re
from collections.abc import Iterator
from functools import cache

# fmt: off
# What a tool does, or a user wants done. The first word is the one that is said back.
READS = {
    "list":      "list show display view see give print enumerate overview read have exist",
    "find":      "find get search fetch query lookup retrieve locate check who where details tell",
    "calculate": "calculate compute sum multiply divide subtract solve evaluate",
}
WRITES = {
    "add":       "create add make new register insert put write draft prepare remind schedule",
    "remove":    "delete remove erase clear drop trash discard wipe purge",
    "complete":  "complete finish done tick close resolve accomplish",
    "update":    "update change edit modify set rename correct adjust move reopen mark raise",
    "post":      "post book",
    "send":      "send email mail submit share forward",
    "cancel":    "cancel void revoke abort",
    "approve":   "approve confirm accept authorize",
    "reject":    "reject decline refuse deny",
    "pay":       "pay settle refund charge",
    "ship":      "ship deliver dispatch",
    "release":   "release publish deploy",
    "assign":    "assign delegate",
    "start":     "start begin launch run restart stop pause resume",
    "upload":    "upload import download export",
}
# What it is done to.
NOUNS = {
    "task":      "task todo to-do reminder chore errand",
    "customer":  "customer client buyer debtor",
    "item":      "item product article goods sku",
    "invoice":   "invoice bill",
    "order":     "order purchase",
    "vendor":    "vendor supplier creditor",
    "entity":    "entity entities table resource kind record",
    "time":      "time clock hour date day today now",
    "weather":   "weather forecast temperature",
    "document":  "document file pdf paper attachment policy manual handbook contract",
    "user":      "user member",
    "phone":     "phone telephone",
    "email":     "email e-mail",
    "price":     "price cost",
    "inventory": "inventory stock",
    "balance":   "balance owe",
}
# fmt: on

VERBS = READS | WRITES
IRREGULAR = {"people": "person", "children": "child", "goods": "goods", "lines": "line"}


def numbered(words: str) -> dict[str, int]:
    """The words of a line, each with its place from 0."""
    return {word: at for at, word in enumerate(words.split())}


FILLERS = frozenset(
    numbered("""
    a an the my our your his her their its me us i we you please kindly all every each any some
    of for to in on at by from with and or then also just now can could would will shall should do
    does did is are was were be been am what which that this these those there it
    they them him her one ones
    yes sure want need like would'd let lets let's so up out as about into currently
    current right hey ok
    okay many much how tell list lists s t d ll ve re m
    """)
)
PRONOUNS = re.compile(
    r"\b(its?|his|her|their|that|this|they|them|those|these|the same|that one|this one)\b", re.I
)
EVERYTHING = re.compile(
    r"\b(all|every|everything|each|both|the whole|(?:clear|empty|wipe|purge)\b.*\b(?:list|\w+s))\b",
    re.I,
)
COUNTED = re.compile(r"\b(how many|count|the number of)\b", re.I)
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def tokens(text: str) -> list[str]:
    """The words of a text or of an identifier, in lower case."""
    plain = re.sub(r"\bto-do", "todo", _CAMEL.sub(" ", text), flags=re.I)
    return [token.lower() for token in _TOKEN.findall(plain)]


def singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or word.endswith(("ss", "us", "is", "news", "series")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _forms(verb: str) -> Iterator[str]:
    """create, creates, created, creating: what a verb looks like in a sentence."""
    stem = verb.removesuffix("e")
    doubled = stem + stem[-1]
    yield from (verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{stem}ing", f"{doubled}ing")


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for concept, words in VERBS.items():
        for word in (concept, *words.split()):
            for form in _forms(word):
                table.setdefault(form, concept)
    for concept, words in NOUNS.items():
        for word in words.split():
            table[word] = concept
    return table


@cache
def concept(word: str) -> str:
    """The one word that stands for this one and its synonyms."""
    table = _table()
    return table.get(word) or table.get(singular(word)) or singular(word)


def concepts(text: str) -> list[str]:
    return [concept(token) for token in tokens(text)]


def content(text: str) -> list[str]:
    """The concepts that say something: without articles, prepositions and the like."""
    return [concept(word) for word in tokens(text) if word not in FILLERS]


def is_verb(word: str) -> bool:
    return concept(word) in VERBS


def plural(noun: str, count: int = 2) -> str:
    if count == 1:
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(s|x|ch|sh)$", noun) else "s")


def counted(count: int, noun: str) -> str:
    return f"{count} {plural(noun, count)}"
