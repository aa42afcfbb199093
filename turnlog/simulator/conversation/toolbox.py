"""The tools that a request offers, and which of them a clause asks for.

A tool's name says its verb and its nouns; its description and parameters give hints. A tool that
writes is only picked when the user's verb says so.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..script import Json
from .clauses import Clause
from .schema import kind_of, plain, properties, required, words_of
from .words import FILLERS, READS, VERBS, WRITES, concept, concepts, content, tokens

HAND_OFF = re.compile(r"^(transfer|hand_?off|hand_?over|delegate|route|switch)_?(back_)?to_", re.I)
# Words that belong to an agent's field although its hand-off tool may not name them.
FIELDS = {
    "erp": {
        "customer",
        "item",
        "invoice",
        "order",
        "vendor",
        "entity",
        "price",
        "inventory",
        "sale",
    },
    "business": {"customer", "item", "invoice", "order", "vendor", "entity", "price", "inventory"},
    "task": {"task", "complete", "remind"},
    "knowledge": {"document", "handbook", "say", "cite", "source", "summarize"},
}
ENOUGH = 4.0
SEARCHES = re.compile(r"query|search|term|keyword|contains|question|^text$")
# Verbs that name the tool by themselves, where only one tool has them; the specific ones are
# said of one kind of thing, so that "it" is of that kind, whatever was talked about last.
SPECIFIC = {"post", "approve", "pay", "ship", "release"}
TELLING = SPECIFIC | {"remove", "complete", "cancel", "reject"}
# Parameters that nearly everything has: they say nothing about what is meant.
VAGUE = {"name", "title", "description", "query", "id", "number", "status", "limit", "text", "line"}


@dataclass(frozen=True)
class Tool:
    """A client tool as the simulator sees it."""

    name: str
    description: str
    schema: Json

    @cached_property
    def _name_words(self) -> list[str]:
        words = tokens(self.name)
        cut = words.index("by") if "by" in words[1:] else len(words)
        return words[:cut]

    @cached_property
    def verb(self) -> str | None:
        """From the name; else from the first word of the description when that is a write."""
        for word in self._name_words:
            if concept(word) in VERBS:
                return concept(word)
        first = next(iter(concepts(self.description)), "")
        return first if first in WRITES else None

    @cached_property
    def nouns(self) -> list[str]:
        found = [concept(word) for word in self._name_words if word not in FILLERS]
        return [noun for noun in found if noun not in VERBS] or found

    @property
    def head(self) -> str:
        """What it is about: the last noun of its name."""
        return self.nouns[-1] if self.nouns else ""

    @property
    def label(self) -> str:
        """`create_sales_invoice` -> `sales invoice`."""
        words = [w for w in self._name_words if w not in FILLERS and concept(w) not in VERBS]
        return " ".join([*words[:-1], *map(_singular_label, words[-1:])]) or self.name

    @cached_property
    def hints(self) -> set[str]:
        return {*content(self.description), *(w for p in self.parameters for w in content(p))}

    @property
    def writes(self) -> bool:
        return self.verb in WRITES

    @property
    def is_hand_off(self) -> bool:
        return HAND_OFF.match(self.name) is not None

    @cached_property
    def parameters(self) -> dict[str, Json]:
        return {n: plain(s, self.schema) for n, s in properties(self.schema).items()}

    @property
    def required(self) -> list[str]:
        return [name for name in required(self.schema) if name in self.parameters]

    def kind(self, parameter: str) -> str:
        return kind_of(parameter, self.parameters[parameter])

    def noun_of(self, parameter: str) -> str:
        """What an id is the id of: `customer_id` -> customer, `id` -> what the tool is about."""
        words = words_of(parameter).split()[:-1]
        return concept(words[-1]) if words else self.head


def _singular_label(word: str) -> str:
    return concept(word) if concept(word) in word or word.startswith(concept(word)[:3]) else word


def offered(body: Json) -> list[Tool]:
    if (body.get("tool_choice") or {}).get("type") == "none":
        return []
    tools: Iterable[Json] = body.get("tools") or ()
    return [
        Tool(t["name"], str(t.get("description") or ""), t["input_schema"])
        for t in tools
        if t.get("type", "custom") == "custom"
    ]


# --- which one ---


def pick(tools: Sequence[Tool], clause: Clause, focus: str = "") -> Tool | None:
    """The best tool for the clause. `focus` is the noun that it leaves out: what "it" is."""
    focus = _implied_by_verb(tools, clause, SPECIFIC) or focus or _implied(tools, clause)
    scored = [(score(tool, clause, focus, tools), tool) for tool in tools]
    best = max(scored, key=lambda pair: pair[0], default=None)
    return best[1] if best and best[0] >= ENOUGH else None


def score(tool: Tool, clause: Clause, focus: str, tools: Sequence[Tool]) -> float:
    if named(tool, clause.text):
        return 20.0 + len(tool.name) / 100
    if tool.is_hand_off:
        return _hand_off_score(tool, clause)
    verb = _verb_score(tool, clause)
    if verb is None:
        return 0.0
    about = _noun_score(tool, clause, focus)
    if about <= 0:
        return _hint_score(tool, clause, tools) * 1.5 + verb
    return about + verb + min(2.0, _hint_score(tool, clause, tools)) + _fit(tool, clause)


def _implied(tools: Sequence[Tool], clause: Clause) -> str:
    """The noun behind a field: "the phone number" is that of a customer here."""
    if is_named_in(tools, clause):
        return ""
    if head := _implied_by_verb(tools, clause, TELLING):
        return head
    for tool in tools:
        for name in tool.parameters:
            words = content(words_of(name))
            by_last = words[-1:] and words[-1] in clause.nouns and words[-1] not in VAGUE
            if (by_last or set(words) <= set(clause.nouns)) and not set(words) <= VAGUE:
                return tool.head
    return ""


def _implied_by_verb(tools: Sequence[Tool], clause: Clause, verbs: set[str]) -> str:
    """The noun of the only tool with this verb; never against a noun that was said."""
    if clause.verb not in verbs or not {tool.head for tool in tools}.isdisjoint(clause.nouns):
        return ""  # "delete all customers" is not for the one tool that deletes tasks
    able = [tool for tool in tools if tool.verb == clause.verb]
    needs_one = any(t.kind(name) == "reference" for t in able for name in t.required)
    return able[0].head if len(able) == 1 and needs_one else ""


def is_named_in(tools: Sequence[Tool], clause: Clause) -> bool:
    """Whether the clause has a noun of its own, of a tool that could do what it asks."""
    able = (tool.head for tool in tools if _verb_score(tool, clause) is not None)
    return not set(able).isdisjoint(clause.nouns)


def searchers(tools: Sequence[Tool]) -> list[Tool]:
    """The tools that take words to search for, whatever they search."""
    return [t for t in tools if t.verb == "find" and any(map(SEARCHES.search, t.required))]


def named(tool: Tool, text: str) -> bool:
    parts = [re.escape(part) for part in re.split(r"[_-]+", tool.name) if part]
    name = r"[\s_-]+".join(parts)
    return bool(name) and re.search(rf"(?<!\w){name}(?!\w)", text, re.I) is not None


def _verb_score(tool: Tool, clause: Clause) -> float | None:
    """None: this tool does something else than what is asked."""
    if clause.verb == tool.verb:
        return 3.0 if clause.verb else 2.0
    if tool.writes or clause.verb in WRITES:
        return None
    if tool.verb == "calculate" or clause.verb == "calculate":
        return None if tool.verb in READS and clause.verb in READS else 1.0
    return 2.0


def _noun_score(tool: Tool, clause: Clause, focus: str) -> float:
    mentioned = [focus] if focus else clause.nouns
    if tool.verb == clause.verb and tool.nouns == [tool.verb]:  # `calculate` has no noun
        return 4.0
    heads = [tool.head] if tool.verb else tool.nouns
    places = [mentioned.index(head) for head in heads if head in mentioned]
    if not places:
        return 0.0
    others = [noun for noun in tool.nouns if noun not in heads]
    known = sum(1.5 if noun in mentioned else -0.5 for noun in others)
    return (5.0 if min(places) == 0 else 4.0 - min(3, min(places)) * 0.5) + known


def _hint_score(tool: Tool, clause: Clause, tools: Sequence[Tool]) -> float:
    """Words of the description and of the parameters; a word that every tool has says nothing."""
    said = {word for word in clause.nouns if word not in VERBS and len(word) > 2}
    shared = said & tool.hints
    return sum(1.0 / sum(word in other.hints for other in tools) for word in shared)


def _fit(tool: Tool, clause: Clause) -> float:
    """Whether what the tool needs is there: a number for an id, a name to look for."""
    needs = {tool.kind(name) for name in tool.required}
    if tool.writes:
        return 0.0
    if clause.is_plural(tool.head) and "reference" in needs:
        return -2.0
    if clause.is_specific or clause.is_ordinal:
        if "reference" in needs:
            return 1.2 if clause.is_ordinal or re.search(r"\d", clause.text) else 0.2
        return 0.8 if "text" in needs or query_parameter(tool) else -0.4
    return -1.0 if needs & {"reference", "text"} else 0.8


def _hand_off_score(tool: Tool, clause: Clause) -> float:
    target = concepts(HAND_OFF.sub("", tool.name))
    fields = {word for part in target for word in FIELDS.get(part, ())}
    words = {*clause.nouns, clause.verb or ""}
    direct = len(words & set(target)) * 4.0
    return direct + len(words & fields) * 4.0 + len(words & tool.hints) * 2.0


def by_name(tools: Sequence[Tool], name: Any) -> Tool | None:
    return next((tool for tool in tools if tool.name == name), None)


# --- tools that look something up ---


def finder(tools: Sequence[Tool], noun: str) -> Tool | None:
    """A tool that can be called without an id and gives records of that kind."""
    able = [t for t in tools if not t.writes and t.head == noun and _searches(t) is not None]
    return max(able, key=lambda tool: _searches(tool) or 0.0, default=None)


def getter(tools: Sequence[Tool], noun: str) -> Tool | None:
    """A tool that reads one record by its number or id, and needs nothing else."""
    able = [t for t in tools if t.verb == "find" and t.head == noun and len(t.required) == 1]
    return next((t for t in able if t.kind(t.required[0]) == "reference"), None)


def lister(tools: Sequence[Tool], noun: str) -> Tool | None:
    """A tool that gives all records of that kind without being told anything."""
    able = [t for t in tools if not t.writes and t.head == noun and not t.required]
    return next((tool for tool in able if tool.verb == "list"), next(iter(able), None))


def _searches(tool: Tool) -> float | None:
    needs = [tool.kind(name) for name in tool.required]
    if any(kind not in ("text", "enum") for kind in needs) or needs.count("text") > 1:
        return None
    return 2.0 if "text" in needs else 1.5 if query_parameter(tool) else 1.0


def query_parameter(tool: Tool) -> str | None:
    """The parameter that takes words to look for, if there is one."""
    texts = [name for name in tool.parameters if tool.kind(name) == "text"]
    needed = [name for name in texts if name in tool.required]
    queries = [name for name in texts if SEARCHES.search(name)]
    names = [name for name in texts if re.search(r"name|title", name)]
    return next(iter([*needed, *queries, *names]), None)
