"""The id of what the user means: from former results, from the words, or looked up by a tool."""

import re
from collections.abc import Generator
from typing import Any

from ..script import Json
from .plans import Batch, Desk, Missing, Wanted
from .records import GUID, Record, said
from .schema import words_of
from .talk import Done
from .toolbox import Tool, finder, getter, lister, query_parameter
from .values import Scrap
from .words import NOUNS, plural, singular

# A name goes on until such a word; the School of Fine Art goes on behind it.
_ENDS = r"(?:for|to|with|and|in|at|on|by|of(?!\s+(?-i:[A-Z])))\b"
_AFTER = rf"\s+([\w&.'’-]+(?:\s+(?!{_ENDS})[\w&.'’-]+)*)"

Looking = Generator[Batch, list[Done], Any]


def refer(tool: Tool, name: str, scrap: Scrap, desk: Desk, picked: dict[str, Record]) -> Looking:
    """The value of a parameter that names a record. None: nothing is said, nothing is needed.

    `picked` holds the records that were found, by their noun: several parameters may ask for
    the same one."""
    noun = tool.noun_of(name)
    if noun in picked:
        return picked[noun].field(name)
    phrase = desk.given.get(name) or _phrase(tool, noun, scrap, name in tool.required)
    if name not in tool.required and not phrase:
        return None
    if desk.forced:  # this tool and no other: what is not known stays open
        record = next(iter(desk.known.meant(noun, phrase)), None) or _number(phrase)
    else:
        raw = _takes(tool, name, _number(phrase), desk)
        record = yield from look_up(noun, phrase, desk, name, raw)
    if isinstance(record, Record):
        picked[noun] = record
        return record.field(name)
    return None if record is None else _typed(tool.parameters[name], record)


def look_up(noun: str, phrase: str, desk: Desk, name: str, raw: bool = True) -> Looking:
    """The record that is meant, or the bare number that was said. Raises Missing for neither."""
    known = desk.known.meant(noun, phrase)
    if len(known) == 1:
        return known[0]
    number = _number(phrase)
    if raw and number and not known:
        return number
    records = known or (yield from _searched(noun, phrase, number, desk))
    if len(records) == 1:
        return records[0]
    raise Missing(name, _which(noun, phrase, records))


def _takes(tool: Tool, name: str, number: str | None, desk: Desk) -> bool:
    """Whether a bare number will do: not for a GUID, and not where more of the record is asked."""
    pattern = tool.parameters[name].get("pattern")
    if isinstance(pattern, str) and number and not _fits(pattern, number):
        return False
    more = [n for n in tool.required if n != name and tool.kind(n) in ("text", "reference")]
    return not (tool.writes and more and getter(desk.tools, tool.noun_of(name)))


def _searched(
    noun: str, phrase: str, number: str | None, desk: Desk
) -> Generator[Batch, list[Done], list[Record]]:
    words = said(phrase, noun)
    one = getter(desk.tools, noun) if number else None
    tool = one or (finder(desk.tools, noun) if words else None) or lister(desk.tools, noun)
    if tool is None:
        return []
    query = tool.required[0] if one else query_parameter(tool)
    arguments: Json = {}
    if query and words:
        arguments = {query: number if one else _query(phrase, noun)}
    thinks = f"I need the {noun} first, so I look it up with {tool.name}."
    says = f"Let me look up the {noun} first."
    (done,) = yield Batch((Wanted(tool.name, arguments),), says, thinks)
    found = desk.known.add(done, noun)
    if one:
        desk.fresh += found
    meant = desk.known.meant(noun, phrase) if found and words else []
    return meant or (found if arguments or len(found) == 1 or not words else [])


def _query(phrase: str, noun: str) -> str:
    """The words to search for, as they were written; only a plural in lower case is undone."""
    every = re.findall(r"[\w&'’-]+", phrase)
    named = [at for at, word in enumerate(every) if said(word, noun)]
    words = [word for at, word in enumerate(every) if at in named or _links(word, at, named)]
    return " ".join(singular(word) if word.islower() else word for word in words)


def _links(word: str, at: int, named: list[int]) -> bool:
    """The `of` in the School of Fine Art."""
    return word in ("of", "and", "the") and bool(named) and named[0] < at < named[-1]


def _phrase(tool: Tool, noun: str, scrap: Scrap, needed: bool) -> str:
    """The words that say which one; those for another noun than the tool's are cut out."""
    if guid := scrap.take(GUID, lambda found: found[0]):
        return str(guid)
    if noun == tool.head:
        phrase, scrap.text = scrap.text, ""
        return phrase
    names = "|".join(re.escape(word) for word in NOUNS.get(noun, noun).split())
    after_noun = re.compile(rf"\b(?:for |to |of |from )?(?:the )?(?:{names})\b{_AFTER}", re.I)
    if found := scrap.take(after_noun, lambda found: found[1]):
        return str(found)
    after_word = re.compile(rf"\b(?:for|to|from|of|at)\b(?!\s+\d)(?:\s+the)?{_AFTER}", re.I)
    if found := scrap.take(after_word, lambda found: found[1]):
        return str(found)
    if (tool.writes and not needed) or not re.match(r"[A-Z\"“]", scrap.text):
        return ""
    phrase, scrap.text = scrap.text, ""  # "the invoices of Adatum", "bill Adatum for 2 desks":
    # all that is left is whose
    return phrase


def _number(phrase: str) -> str | None:
    found = re.search(r"(?<![\w-])(?:[A-Z]+-)?[A-Z]*-?\d[\w-]*(?![\w%-])", phrase)
    return found[0] if found else None


def _fits(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except (re.error, RecursionError):  # a schema's pattern need not be Python's
        return False


def _typed(schema: Json, value: Any) -> Any:
    if schema.get("type") == "integer":
        return int(value) if str(value).isdigit() and len(str(value)) < 18 else None
    return str(value)


def _which(noun: str, phrase: str, records: list[Record]) -> str:
    words = phrase.strip(" .!?")
    if records:
        names = [f"“{record.name}”" for record in records[:6]]
        more = f" and {len(records) - 6} more" if len(records) > 6 else ""
        return f"Which {noun} do you mean: {', '.join(names)}{more}?"
    if said(words, noun):
        return f"I found no {noun} that matches “{words}”. Which {noun} do you mean?"
    return f"Which {noun} do you mean? You can ask me to list the {plural(words_of(noun))}."
