"""The arguments of a tool, by its schema: from the user's words, or looked up with other tools.

`fill` is a part of a plan: it asks for a look-up where an id is needed that nobody has told yet.
"""

import re
from collections.abc import Generator
from typing import Any

from ..script import Json
from . import values
from .clauses import Clause
from .companions import bring_along
from .lines import read_lines
from .phrases import free_text, update_parts, without_command
from .plans import Batch, Desk, Missing
from .records import Record
from .references import refer
from .schema import QUERY, words_of
from .talk import Done
from .toolbox import SEARCHES, Tool, query_parameter
from .values import Scrap

Filling = Generator[Batch, list[Done], Json]

# fmt: off
# Kinds that are found by their form alone, in this order.
BY_FORM = {
    "email": values.email,
    "url":   values.url,
    "date":  values.day,
    "sum":   values.expression,
}
# Where a parameter's value follows a preposition.
PREPOSITIONS = {
    r"\b(city|town|location|place|country|region)\b": "in|at|for",
    r"\b(recipient|to|receiver)\b":                   "to",
    r"\b(assignee|owner|person)\b":                   "to|for",
}
# fmt: on


def fill(tool: Tool, clause: Clause, desk: Desk) -> Filling:
    """All that can be found; raises Missing for a required argument that cannot."""
    scrap = Scrap(clause.text, desk.today)
    found: Json = dict(_changes(tool, clause, scrap, desk))
    if not tool.writes:  # "unpaid invoices of Adatum": before all but the name is taken away
        _fill_choices(tool, scrap, found)
    scrap.text = without_command(scrap.text, tool)
    _fill_by_form(tool, scrap, found, desk)
    for name in _of_kind(tool, found, "lines"):
        lines = yield from read_lines(tool, name, scrap, desk)
        if lines:
            found[name] = lines
    picked: dict[str, Record] = {}
    for name in _of_kind(tool, found, "reference"):
        if _is_given_anew(tool, name):
            value: Any = values.after_its_name(scrap, name, r"[\w-]*\d[\w-]*")
        else:
            value = yield from refer(tool, name, scrap, desk, picked)
        if value is not None:
            found[name] = value
    if not desk.forced:
        yield from bring_along(tool, found, picked, desk)
    _fill_numbers(tool, scrap, found)
    _fill_texts(tool, clause, scrap, found, desk)
    _require(tool, found, desk)
    return {name: found[name] for name in tool.parameters if name in found}


def _is_given_anew(tool: Tool, name: str) -> bool:
    """The number that a new record gets is no reference to an old one."""
    return tool.verb == "add" and tool.noun_of(name) == tool.head


def _of_kind(tool: Tool, found: Json, *kinds: str) -> list[str]:
    """Parameters that are still open: the required ones first."""
    names = [name for name in tool.parameters if name not in found and tool.kind(name) in kinds]
    return sorted(names, key=lambda name: name not in tool.required)


def _changes(tool: Tool, clause: Clause, scrap: Scrap, desk: Desk) -> Json:
    """`change the phone of Adatum to 555`: which field, and what it becomes."""
    if clause.verb != "update" or (parts := update_parts(scrap.text)) is None:
        return {}
    target, value = parts
    flag = next(
        (n for n in tool.parameters if tool.kind(n) == "boolean" and _state(n, value)), None
    )
    if flag is not None:
        scrap.text = target
        return {flag: not re.match(r"not\b|un|in|open|pending", value, re.I)}
    name = next((n for n in tool.parameters if _is_changed(tool, n, target)), None)
    if name is None:
        name = next((n for n in tool.parameters if _is_changed_text(tool, n)), None)
    if name is None:
        return {}
    scrap.text = _without_field(target, name)
    return {name: _typed(tool, name, value, desk)}


def _state(name: str, value: str) -> bool:
    """Whether the value says yes or no to a flag: `not done`, `completed`, `open`."""
    words = {name.lower(), *values.CHOICES.get(name.lower(), "").split()}
    said = re.sub(r"^(?:not |un|in)-?", "", value.strip(" .!").lower())
    return said in words or (name.lower() == "completed" and said in ("open", "pending"))


def _is_changed(tool: Tool, name: str, target: str) -> bool:
    """By its whole name; a number also by its last word, as `price` for `unit_price`."""
    said = words_of(name).split()[-1:] if tool.kind(name) == "number" else [name]
    return tool.kind(name) != "reference" and values.mentions(target, *said)


def _is_changed_text(tool: Tool, name: str) -> bool:
    return tool.kind(name) == "text" and QUERY.search(words_of(name)) is not None


def _without_field(target: str, name: str) -> str:
    words = r"[\s_-]?".join(map(re.escape, words_of(name).split()))
    words = f"{words}|{words_of(name).split()[-1]}"
    return re.sub(rf"\b(?:the |its )?(?:{words})\b(?: of| for| on)?", " ", target, flags=re.I)


def _typed(tool: Tool, name: str, value: str, desk: Desk) -> Any:
    scrap, kind = Scrap(value, desk.today), tool.kind(name)
    if kind == "number":
        typed: Any = values.number(scrap, tool.parameters[name].get("type") == "integer")
    elif kind == "enum":
        typed = values.choice(scrap, tool.parameters[name]["enum"])
    elif kind == "boolean":
        typed = not re.search(r"\b(no|not|false|off|open|un\w+)\b", value, re.I)
    else:
        typed = BY_FORM[kind](scrap) if kind in BY_FORM else None
    return value.strip(" \"'“”.!") if typed is None else typed


def _fill_choices(tool: Tool, scrap: Scrap, found: Json) -> None:
    for name in _of_kind(tool, found, "enum"):
        narrow = [one for one in tool.parameters[name]["enum"] if one != "all"]
        chosen = values.choice(scrap, narrow)
        if chosen is not None:
            found[name] = chosen


def _fill_by_form(tool: Tool, scrap: Scrap, found: Json, desk: Desk) -> None:
    for name, schema in tool.parameters.items():
        if name in found:
            continue
        value = _by_form(tool, name, schema, scrap, desk)
        if value is not None:
            found[name] = value


def _by_form(tool: Tool, name: str, schema: Json, scrap: Scrap, desk: Desk) -> Any:
    kind = tool.kind(name)
    if name in desk.given and kind not in ("reference", "lines", "text"):
        return _typed(tool, name, desk.given[name], desk)
    if kind in BY_FORM:
        return BY_FORM[kind](scrap)
    match kind:
        case "const":
            return schema["const"]
        case "enum":
            return values.choice(scrap, schema["enum"])
        case "boolean":
            return _flag(name, scrap)
        case "phone":
            said = values.after_its_name(scrap, name, values.PHONE.pattern)
            return said or values.after_its_name(scrap, "phone", values.PHONE.pattern)
        case "number":
            said = values.after_its_name(scrap, name, values.DIGITS)
            return said and _typed(tool, name, said, desk)
    return None


def _flag(name: str, scrap: Scrap) -> bool | None:
    words = r"[\s_-]?".join(map(re.escape, words_of(name).split()))
    others = "|".join(values.CHOICES.get(name.lower(), "").split())
    pattern = rf"\b(?:as )?(not |un|in)?-?(?:{words}{'|' + others if others else ''})\b"
    return scrap.take(re.compile(pattern, re.I), lambda found: found[1] is None)


def _fill_numbers(tool: Tool, scrap: Scrap, found: Json) -> None:
    """The numbers that are left go to the required ones, in order; then to one optional."""
    for name in _of_kind(tool, found, "number"):
        whole = tool.parameters[name].get("type") == "integer"
        if name in tool.required or _is_asked_for(name, scrap.text):
            value = values.number(scrap, whole)
            if value is not None:
                found[name] = value


def _is_asked_for(name: str, text: str) -> bool:
    counts = re.search(r"limit|top|max|count|first|quantity|qty", name, re.I)
    asked = re.search(
        r"\b(first|top|last|only|latest|newest)\b|^\s*\d+\s+\w|\d+ (of|x)\b", text, re.I
    )
    return bool(counts and asked)


def _fill_texts(tool: Tool, clause: Clause, scrap: Scrap, found: Json, desk: Desk) -> None:
    names = _of_kind(tool, found, "text", "phone", "texts", "object")
    for name in names:
        value = _said_by_name(name, scrap, desk, tool)
        if value:
            found[name] = value
    main = _main_text(tool, clause, found)
    if main and (rest := values.quoted(scrap) or free_text(scrap.text, tool)):
        found[main] = [rest] if tool.kind(main) == "texts" else rest


def _said_by_name(name: str, scrap: Scrap, desk: Desk, tool: Tool) -> Any:
    if name in desk.given:
        return desk.given[name].strip(" \"'“”.!")
    if tool.kind(name) in ("texts", "object"):
        return None
    for words, links in PREPOSITIONS.items():
        if re.search(words, words_of(name)):
            pattern = re.compile(rf"\b(?:{links})\s+({values.WORDS})", re.I)
            if value := scrap.take(pattern, lambda found: found[1].strip(" \"'“”?.!")):
                return value
    return values.after_its_name(scrap, name, values.WORDS)


def _main_text(tool: Tool, clause: Clause, found: Json) -> str | None:
    """The one parameter that takes what is left of the sentence."""
    needed = [n for n in tool.required if n not in found and tool.kind(n) in ("text", "texts")]
    if needed:
        return needed[0]
    query = None if tool.writes else query_parameter(tool)
    return query if query and query not in found and clause.verb != "calculate" else None


def _require(tool: Tool, found: Json, desk: Desk) -> None:
    for name in tool.required:
        if name in found:
            continue
        schema = tool.parameters[name]
        value = _default(tool, name, schema)
        if value is None and not desk.forced:
            raise Missing(name, question(tool, name))
        found[name] = placeholder(name, schema) if value is None else value


def _default(tool: Tool, name: str, schema: Json) -> Any:
    if "default" in schema:
        return schema["default"]
    if tool.kind(name) == "enum" and "all" in schema["enum"]:
        return "all"
    if tool.kind(name) == "sum":
        return None
    return {"texts": [], "object": {}}.get(tool.kind(name)) if not tool.writes else None


def placeholder(name: str, schema: Json) -> Any:
    """Something of the right type, for a tool that has to be called all the same."""
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    by_type = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    kind = schema.get("type")
    return by_type.get(kind, name) if isinstance(kind, str) else name


def question(tool: Tool, name: str) -> str:
    """One sentence that asks for one argument."""
    schema, words = tool.parameters[name], words_of(name)
    if tool.kind(name) == "enum":
        choices = ", ".join(map(str, schema["enum"][:8]))
        return f"Which {words} should it be: {choices}?"
    if tool.kind(name) == "reference":
        return f"Which {tool.noun_of(name)} do you mean? I found none that fits."
    if not tool.writes and tool.verb == "find" and SEARCHES.search(name):
        return f"Which {tool.label} should I look for?"
    if tool.kind(name) == "sum":
        return "What should I calculate?"
    if tool.kind(name) == "lines":
        return f"What should be on the {tool.label}: how many, and of what?"
    if tool.writes and re.search(r"\b(name|title)\b", words):
        return f"What should the {tool.label} be called?"
    if tool.writes:
        return f"What should the {words} of the {tool.label} be?"
    return f"Which {words} should I use for the {tool.label}?"
