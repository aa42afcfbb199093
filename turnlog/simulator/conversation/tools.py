"""The tools that a request offers, and `use NAME {...}`: the way to call any of them."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ..script import Json

# fmt: off
# What to say for tools that have a grammar, the most telling first; see intents.py.
SENTENCES = {
    "list_tasks":            "show me my tasks",
    "find_customer":         "find the customer Adatum",
    "transfer_to_tasks":     "show me my tasks",
    "transfer_to_erp":       "find the customer Adatum",
    "transfer_to_knowledge": "search the documents for holidays",
    "calculate":             "what is 12.5 * 3?",
    "search_documents":      "search the documents for holidays",
    "add_task":              "remind me to call Bob",
    "create_customer":       "create a customer called Blue Bay in Portland",
    "find_item":             "what does the Athens desk cost?",
    "current_time":          "what time is it?",
    "delete_task":           "delete task 3",
}
# A value of each type, for somebody to put another in its place.
BLANKS: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
# fmt: on
USE = re.compile(r"^[ \t]*(?:please[ \t]+)?use[ \t]+(?=\S)", re.I | re.M)


HANDOVER = "transfer_to_"


class Ended(Exception):
    """A plan ends here, and says why: a question to the user, or a failure."""


class Tool(NamedTuple):
    """A tool of the client, by its schema."""

    name: str
    parameters: Json
    required: list[str]


class Call(NamedTuple):
    name: str
    input: Json


def offered(body: Json) -> dict[str, Tool]:
    """By name, in their order; none where the request says that none may be used."""
    if (body.get("tool_choice") or {}).get("type") == "none":
        return {}
    own = [tool for tool in body.get("tools") or () if tool.get("type", "custom") == "custom"]
    return {tool["name"]: _tool(tool["name"], tool["input_schema"]) for tool in own}


def _tool(name: str, schema: Json) -> Tool:
    parameters, required = schema.get("properties"), schema.get("required")
    parameters = parameters if isinstance(parameters, dict) else {}
    return Tool(name, parameters, required if isinstance(required, list) else [])


def examples(tools: Mapping[str, Tool], question: str) -> list[str]:
    """Three sentences that work with these tools; `use` with the one that is named most."""
    known = list(dict.fromkeys(text for name, text in SENTENCES.items() if name in tools))
    words = set(question.lower().split())
    others = sorted(tools.keys() - SENTENCES, key=lambda n: (-len(words & {*n.split("_")}), n))
    uses = [example(tools[name]) for name in others[:3]]
    return [*known[:2], *uses[:1], *known[2:], *uses[1:]][:3]


def example(tool: Tool) -> str:
    schemas = {name: tool.parameters.get(name) for name in tool.required}
    types = {name: s.get("type") if isinstance(s, dict) else "" for name, s in schemas.items()}
    blanks = {name: BLANKS.get(str(kind), "…") for name, kind in types.items()}
    return f"use {tool.name} {msgspec.json.format(msgspec.json.encode(blanks), indent=0).decode()}"


def used(question: str, tools: Mapping[str, Tool]) -> list[Call]:
    """The calls that a question asks for with `use`, one on a line; [] when it begins otherwise."""
    before, *lines = USE.split(question)
    return [] if before.strip() else [_call(line, tools) for line in _own(lines, tools)]


def _own(lines: list[str], tools: Mapping[str, Tool]) -> list[str]:
    """In a team the lines are for several: first those that hand over, then the rest."""
    names = {line: line.split(maxsplit=1)[0] for line in lines}
    handing = [line for line in lines if names[line].startswith(HANDOVER) and names[line] in tools]
    if handing:
        return [line for line in lines if names[line] in tools]
    rest = [line for line in lines if not names[line].startswith(HANDOVER)]
    return rest or lines


def _call(line: str, tools: Mapping[str, Tool]) -> Call:
    name, rest = re.findall(r"([\w-]+|\S*)\s*(.*)", line.strip(" .!\n"), re.S)[0]
    tool = tools.get(name)
    if tool is None:
        names = ", ".join(tools) or "none at all"
        raise Ended(f"There is no tool “{name}” here. There are: {names}.")
    try:
        value = msgspec.json.decode(re.sub(r"^[“„](.*)[”“]$", r'"\1"', rest) or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict) and value is not None and len(tool.required) == 1:
        value = {tool.required[0]: value}
    if not isinstance(value, dict):
        raise Ended(f"{name} takes its arguments as a JSON object, for example:\n{example(tool)}")
    return Call(name, value)
