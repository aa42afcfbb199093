"""The lines of an order or invoice: "3 chairs and 2 Athens desks at 950"."""

import re
from collections.abc import Generator
from typing import Any

from ..script import Json
from .plans import Batch, Desk
from .records import Record
from .references import look_up
from .schema import kind_of, plain, properties, words_of
from .talk import Done
from .toolbox import Tool
from .values import NUMBER_WORDS, Scrap
from .words import NOUNS, concept

_COUNT = rf"(\d+(?:\.\d+)?|{'|'.join(NUMBER_WORDS)}|an?)"
_STOP = r"and|for|to|at|with|on|from|,|;|@|each"
_LINE = re.compile(
    rf"(?<![\w.-])(?:with |and |for |of )?{_COUNT}\s*(?:x|×|pcs|pieces?|units?|times)?\s+(?:of )?"
    rf"(?:the |our |your )?((?!(?:{_STOP})\b)[\w'’-]+(?:\s+(?!(?:{_STOP})\b)[\w'’-]+)*)"
    r"(?:\s*(?:at|@|for)\s*[€$£]?(\d+(?:\.\d+)?)(?:\s*(?:€|\$|eur|usd|each))*)?",
    re.I,
)
_QUANTITY = re.compile(r"\b(quantity|qty|count|amount|pieces|units)\b")
_DISCOUNT = re.compile(r"\bdiscount\b")
_PERCENT = re.compile(
    r"(?:\b(?:with|less|minus|at|and)\s+)?(?:an? )?(\d+(?:\.\d+)?)\s*%(?:\s*(?:discount|off))?",
    re.I,
)
_PRICE = re.compile(r"\b(price|rate)\b")


def read_lines(
    tool: Tool, name: str, scrap: Scrap, desk: Desk
) -> Generator[Batch, list[Done], list[Json]]:
    """One object for each "number of something", its item looked up; [] when none is said."""
    schema = plain(tool.parameters[name].get("items"), tool.schema)
    said = scrap if name not in desk.given else Scrap(desk.given[name], desk.today)
    lines: list[Json] = []
    percent = said.take(_PERCENT, lambda found: found[1])
    while found := _LINE.search(said.text):
        said.cut(*found.span())
        line = yield from _line(schema, tool, found, desk)
        lines.append(line | _discount(schema, percent))
    return lines


def _discount(schema: Json, percent: str | None) -> Json:
    """One that is said once holds for every line."""
    named = [name for name in properties(schema) if _DISCOUNT.search(words_of(name))]
    return {name: _count(percent) for name in named} if percent else {}


def _line(
    schema: Json, tool: Tool, found: re.Match[str], desk: Desk
) -> Generator[Batch, list[Done], Json]:
    line: Json = {}
    for name, part in properties(schema).items():
        one = plain(part, tool.schema)
        if _QUANTITY.search(words_of(name)):
            line[name] = _count(found[1])
        elif _PRICE.search(words_of(name)):
            if found[3]:
                line[name] = _count(found[3])
        elif (noun := _item_noun(name, one)) is not None:
            line[name] = yield from _item(noun, name, found[2], desk)
        elif words_of(name) in ("description", "name", "text"):
            line[name] = found[2]
    return _without_spare_description(line)


def _item_noun(name: str, schema: Json) -> str | None:
    words = words_of(name).split()
    if kind_of(name, schema) == "reference":
        return concept(words[-2]) if len(words) > 1 else "item"
    return concept(words[-1]) if words and concept(words[-1]) in NOUNS else None


def _item(noun: str, name: str, phrase: str, desk: Desk) -> Generator[Batch, list[Done], Any]:
    if desk.forced:
        return phrase
    asked = f"{noun} {phrase}"
    phrase = desk.given.get(asked, phrase)
    record = yield from look_up(noun, phrase, desk, asked, raw=False)
    return record.field(name) if isinstance(record, Record) else record


def _count(text: str) -> float | int:
    if text.lower() in NUMBER_WORDS:
        return NUMBER_WORDS[text.lower()]
    value = 1.0 if text.lower() in ("a", "an") else float(text)
    return int(value) if value.is_integer() else value


def _without_spare_description(line: Json) -> Json:
    """An item brings its own description; the user's word for it would replace that."""
    has_item = any(words_of(name).endswith(("id", "number", "no")) for name in line)
    return {n: v for n, v in line.items() if not (has_item and words_of(n) == "description")}
