"""What tools returned, told to the user: true counts, lists, fields, failures as failures."""

import re
from collections.abc import Sequence
from typing import Any

from ..script import Json
from .clauses import Clause
from .records import KEYS, NAMES, Record, rows, wrapped
from .schema import words_of
from .talk import Done
from .toolbox import Tool, query_parameter
from .words import FILLERS, WRITES, concept, counted, plural, tokens

MOST_ROWS = 25
MOST_COLUMNS = 5
LONGEST_TEXT = 1_500
LONGEST_CELL = 60

# fmt: off
# What is said of a write: to do it, and that it was done.
SAID = {
    "add":      ("create", "created"),     "remove": ("delete", "deleted"),
    "complete": ("complete", "completed"), "send":   ("send", "sent"),
    "pay":      ("pay", "paid"),           "ship":   ("ship", "shipped"),
    "cancel":   ("cancel", "cancelled"),
}
# How a failure is passed on: the first row whose pattern is in its text. Nothing is promised
# that the tool has not said.
FAILURES: list[tuple[str, str]] = [
    (r"in doubt|may or may not|unknown whether|not known whether|outcome is unknown",
     "I cannot say whether I could {act} {it}: {why}. Please check before anybody tries again; "
     "I have not repeated it."),
    (r"\breject|declined|not approved|disapproved|denied by the user",
     "All right, I did not {act} {it}: the request was rejected{reason}. Nothing was changed."),
    (r"expired|nobody (?:answered|approved)|not approved in time",
     "I did not {act} {it}: nobody approved it in time. Ask me again if you still want it."),
    (r"withdrawn|was not done",
     "I did not {act} {it}: {why}."),
    (r"not found|no such|does not exist|unknown (?:id|number|task|customer|item)|there is no",
     "I could not {act} {it}: {why}. Ask me to list the {nouns} to see which ones there are."),
    (r"permission|forbidden|not allowed|unauthori[sz]ed|access",
     "I could not {act} {it}: {why}. Somebody with the right to do so has to help here."),
    (r"time limit|timed? ?out|unavailable|connection|overloaded|try again",
     "I could not {act} {it}: {why}. It may work if you ask me again in a moment."),
    (r"",
     "I could not {act} {it}: {why}. Nothing else was done; tell me what to change and I try "
     "again."),
]
# fmt: on
INSTANT = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?:Z|\+00:00)$")
MONEY = re.compile(r"^(total|amount|balance|sum|price|cost|remaining)|amount|balance|total", re.I)
DULL = re.compile(r"etag|odata|lastmodified|last_modified|created_?at|updated_?at|user_?id$", re.I)
# Fields that decide what a row looks like: the more to the left, the more a person asks for it.
FIRST = (
    "number",
    *NAMES,
    "customername",
    "status",
    "completed",
    "quantity",
    "city",
    "email",
    "phone",
    "date",
)
REJECTED = re.compile(
    r"^(the )?user rejected( it| this)?[\s:.,(\[-]*(the user's reason: )?|[)\]]$", re.I
)


def act(verb: str | None) -> str:
    return SAID[verb][0] if verb in SAID else verb or "do"


def acted(verb: str | None) -> str:
    if verb in SAID:
        return SAID[verb][1]
    return f"{(verb or 'do').removesuffix('e')}ed"


def failure(tool: Tool, done: Done, it: str = "") -> str:
    text = done.text.strip().rstrip(".") or "the tool gave no reason"
    pattern, words = next((p, w) for p, w in FAILURES if re.search(p, text, re.I))
    reason = REJECTED.sub("", text)
    verb = tool.verb if tool.writes else None
    it = it or f"the {tool.label}"
    return words.format(
        act=act(verb) if tool.writes else "look up",
        it=it,
        why=_short(text),
        reason=f" ({_short(reason.rstrip('.'))})" if reason and reason != text else "",
        nouns=plural(tool.label),
    )


def result(tool: Tool, done: Done, clause: Clause) -> str:
    """What one call gave, in words that fit what was asked."""
    if done.failed:
        return failure(tool, done)
    if tool.writes:
        return written(tool, done)
    listed = listing(done)
    if listed is not None:
        more = isinstance(done.value, dict) and done.value.get("hasMore") is True
        if not listed[0] and (query := done.input.get(query_parameter(tool) or "")):
            return f"I found no {plural(tool.label)} for “{_short(str(query))}”."
        return _list(tool, clause, _filtered(tool, done) + tool.label, *listed, more)
    if isinstance(done.value, dict):
        return _record(tool, clause, done.value)
    return _short(done.text, LONGEST_TEXT) or f"{tool.name} returned nothing."


def listing(done: Done) -> tuple[list[Any], int] | None:
    """The rows of a result, and how many there are in all; None when it is not a list."""
    value = done.value
    if isinstance(value, list):
        return value, len(value)
    inside = wrapped(value) if isinstance(value, dict) else None
    if inside is None:
        return None
    counts = [
        v
        for k, v in value.items()
        if re.fullmatch(r"(@odata\.)?(count|total|totalcount|total_count)", k, re.I)
    ]
    return inside[1], max([len(inside[1]), *(c for c in counts if isinstance(c, int))])


def written(tool: Tool, done: Done) -> str:
    """A write that succeeded, and what it was done to."""
    found = rows(done.value)
    verb = acted(tool.verb)
    if len(found) != 1:
        said = f" The tool says: {_short(done.text)}" if done.text else ""
        return f"Done: the {tool.label} is {verb}.{said}"
    record = Record(tool.head, found[0])
    key = next((k for k in ("number", "id") if record.fields.get(k) not in (None, "")), None)
    name = f" “{record.title}”" if record.title else ""
    place = (
        f" ({key} {_cell(record.fields[key])})" if key and len(str(record.fields[key])) < 40 else ""
    )
    total = _totals([record.fields]) if "totalAmountIncludingTax" in record.fields else ""
    changed = ", as it was changed before it was allowed" if done.is_changed else ""
    return f"Done: the {tool.label}{name}{place} is {verb}{changed}.{' ' + total if total else ''}"


# --- lists ---


def _filtered(tool: Tool, done: Done) -> str:
    """`completed `, where only those were asked for."""
    chosen = [v for n, v in done.input.items() if n in tool.parameters and tool.kind(n) == "enum"]
    return " ".join(f"{str(value).lower()} " for value in chosen if value != "all")


def _list(
    tool: Tool, clause: Clause, noun: str, values: list[Any], total: int, is_cut: bool
) -> str:
    owner = "You have" if re.search(r"\b(my|i)\b", clause.plain, re.I) else "There are"
    if owner == "There are":
        owner = "I found" if tool.verb == "find" else "There is" if total == 1 else owner
    if not total:
        return f"{owner} no {plural(noun)}."
    if total == 1 and isinstance(values[0], dict) and _asked(clause, values[0]):
        return _record(tool, clause, values[0])
    head = f"{owner} {counted(total, noun)}{_breakdown(values)}"
    if is_cut and total > len(values):
        head = f"{owner} {counted(total, noun)}; these are the first {len(values)}"
    elif is_cut:  # the tool does not say how many more, so nobody does
        head = f"{owner} more than {counted(total, noun)}; these are the first {total}"
    if clause.counts:
        return f"{owner} {counted(total, noun)}." if total > len(values) else f"{head}."
    shown = values[:MOST_ROWS]
    more = f"\n\n… and {total - len(shown)} more." if total > len(shown) and not is_cut else ""
    return f"{head}:\n\n{rows_told(shown)}{more}{_ending(values)}"


def rows_told(values: Sequence[Any]) -> str:
    """A table when the rows have much to say, else a numbered list."""
    records = [value for value in values if isinstance(value, dict)]
    if len(records) < len(values) or not records:
        return "\n".join(f"{at}. {_cell(value)}" for at, value in enumerate(values, 1))
    columns = _columns(records)
    if len(columns) >= 4 and len(records) > 1:
        return _table(records, columns)
    return "\n".join(f"{at}. {row_told(record)}" for at, record in enumerate(records, 1))


def row_told(fields: Json) -> str:
    record = Record("", fields)
    rest = [c for c in _columns([fields]) if _cell(fields[c]) != _cell(record.name)]
    told = [_field(name, fields[name]) for name in rest[: MOST_COLUMNS - 1]]
    details = ", ".join(filter(None, told))
    return f"{_cell(record.name)}{f' ({details})' if details else ''}"


def _field(name: str, value: Any) -> str:
    if isinstance(value, bool):
        words = words_of(name)
        return words if value else "open" if words in ("completed", "done") else f"not {words}"
    return f"{words_of(name)} {_cell(value)}"


def _columns(records: Sequence[Json]) -> list[str]:
    """The fields that are worth a column, the ones that people ask for first."""
    names = dict.fromkeys(name for record in records for name in record)
    worth = [n for n in names if not DULL.search(n) and any(_worth(r.get(n)) for r in records)]
    if any(n.lower() in NAMES for n in worth):  # a GUID says nothing beside a name
        worth = [n for n in worth if not any(len(str(r.get(n))) == 36 for r in records)]
    return sorted(worth, key=_rank)[:MOST_COLUMNS]


def _rank(name: str) -> tuple[int, int]:
    lower = name.lower()
    exact = next((at for at, first in enumerate(FIRST) if lower == first), None)
    if exact is not None:
        return 0, exact
    return (1, 0) if MONEY.search(name) else (2, 0) if lower in KEYS else (3, 0)


def _worth(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and value != "")


def _table(records: Sequence[Json], columns: list[str]) -> str:
    head = "| # | " + " | ".join(words_of(name) for name in columns) + " |"
    line = "|---" * (len(columns) + 1) + "|"
    body = [
        f"| {at} | " + " | ".join(_cell(record.get(name)) for name in columns) + " |"
        for at, record in enumerate(records, 1)
    ]
    return "\n".join([head, line, *body])


def _breakdown(values: Sequence[Any]) -> str:
    """(3 completed, 9 open), where the rows say which are done."""
    done = [v["completed"] for v in values if isinstance(v, dict) and "completed" in v]
    flags = [flag for flag in done if isinstance(flag, bool)]
    if len(set(flags)) < 2 or len(flags) != len(values):
        return ""
    return f" ({sum(flags)} completed, {len(flags) - sum(flags)} open)"


def _ending(values: Sequence[Any]) -> str:
    totals = _totals([value for value in values if isinstance(value, dict)])
    return f"\n\n{totals}" if totals and len(values) > 1 else ""


def _totals(records: Sequence[Json]) -> str:
    """The sum of the first money column that every row has."""
    for name in dict.fromkeys(name for record in records for name in record):
        numbers = [record.get(name) for record in records]
        if re.search(r"total|amount|balance", name, re.I) and all(map(_is_number, numbers)):
            best = next(
                (n for n in records[0] if re.search(r"totalAmountIncl|total_amount_incl", n)), name
            )
            summed = sum(record.get(best) or 0 for record in records)
            return f"{words_of(best).capitalize()}: {summed:,.2f}."
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- one record ---


def asked_fields(tool: Tool, clause: Clause, fields: Json) -> str | None:
    """What the question asks of the record; None when it asks for the record itself."""
    name = Record(tool.head, fields).name
    told = [_told_field(field, fields[field], name) for field in _asked(clause, fields)]
    return "\n".join(told) or None


def _told_field(field: str, value: Any, name: str) -> str:
    """`The city of Adatum is Atlanta.`, but `Adatum is not blocked.`"""
    words, whose = words_of(field), f" of {name}" if name else ""
    if not words.endswith("ed") or " " in words:
        return f"The {words}{whose} is {_cell(value) or 'not given'}."
    if value in (False, "No"):
        return f"{name or 'It'} is not {words}."
    return f"{name or 'It'} is {words}{'' if value is True else f' ({_cell(value)})'}."


def _record(tool: Tool, clause: Clause, fields: Json) -> str:
    record = Record(tool.head, fields)
    if asked := asked_fields(tool, clause, fields):
        return asked
    if len(fields) == 1:
        ((name, value),) = fields.items()
        what = words_of(name) if tool.verb else tool.label
        return f"The {what} is {_cell(value)}." if not _nested(value) else _cell(value)
    shown = [name for name in fields if _worth(fields[name]) and not DULL.search(name)]
    lines = [f"- {words_of(name)}: {_cell(fields[name])}" for name in shown]
    for name, value in fields.items():
        if isinstance(value, list) and value:
            lines.append(f"- {words_of(name)}: {counted(len(value), 'entry')}\n{rows_told(value)}")
    title = f"{tool.label} “{record.name}”" if record.name else tool.label
    return f"Here is the {title}:\n\n" + "\n".join(lines)


def _asked(clause: Clause, fields: Json) -> list[str]:
    """Fields that the question names: "what is the phone number of …"."""
    said = {concept(token) for token in tokens(clause.plain.lower().replace("how much", "price"))}
    found = [
        name
        for name in fields
        if isinstance(fields[name], str | int | float)
        and (words := {concept(w) for w in tokens(name.removesuffix("Due")) if w not in FILLERS})
        and (words <= said or tokens(name)[-1] in said)
        and not words & {"name", "id", "number", "type"}
        and not words & set(WRITES)
    ]
    if not found and "phone" in said:
        found = [name for name in fields if "phone" in name.lower() and _worth(fields[name])]
    return found[:3]


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _cell(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.2f}" if value != int(value) or abs(value) >= 1e15 else f"{value:.0f}"
        case None:
            return "–"
        case dict():
            return row_told(value)
        case list():
            return ", ".join(_cell(part) for part in value[:8])
    told = INSTANT.sub(r"\1 \2 UTC", str(value)).replace("|", "/").replace("\n", " ")
    return _short(told, LONGEST_CELL * 3)


def _short(text: str, longest: int = 400) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
