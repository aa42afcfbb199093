"""What the simulated Claude says when nothing is scripted.

Deterministic, short, and always open about being a simulation: it repeats what was asked,
calls a tool that the user names, and tells what a tool returned.
"""

import re
from collections.abc import Iterator
from typing import Any

from .models import omits_thinking
from .script import Block, Json, Reply, Text, Thinking, ToolCall

LONGEST_RESULT = 400
LONGEST_QUESTION = 200


def answer(body: Json) -> Reply:
    """An answer to any request that passed the rules."""
    return Reply(*_thoughts(body), *_said(body))


def _said(body: Json) -> list[Block]:
    results = _results(body)
    if results:
        return [Text("\n\n".join(_told(name, result) for name, result in results))]
    question = _question(body)
    tool = _wanted_tool(body, question)
    if tool is None:
        return [Text(_plain_answer(question))]
    opening = Text(f"I am a simulated Claude. Let me use {tool['name']} for that.")
    return [opening, ToolCall(tool["name"], _arguments(tool, question))]


def _plain_answer(question: str) -> str:
    if "story" in question.lower():
        return _long_story()
    asked = _shortened(question, LONGEST_QUESTION)
    heard = f"You wrote: “{asked}”." if asked else "You sent no text."
    return (
        f"Hello! I am a simulated Claude, so no model has read this. {heard} "
        "Name one of the tools that I am offered and I will call it."
    )


def _long_story() -> str:
    """Long enough to be interrupted: some ten seconds at the usual pace."""
    days = (
        f"On day {day} the clerk wrote line {day} into the ledger, and never crossed one out."
        for day in range(1, 81)
    )
    return "\n".join(["I am a simulated Claude, and this is my only story.", *days])


def _thoughts(body: Json) -> Iterator[Thinking]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") not in ("enabled", "adaptive"):
        return
    default = "omitted" if omits_thinking(body["model"]) else "summarized"
    omitted = (thinking.get("display") or default) == "omitted"
    yield Thinking("" if omitted else "This is a simulated thought about what was asked.")


# --- what was asked ---


def _last_blocks(body: Json) -> list[Json]:
    content = body["messages"][-1]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _question(body: Json) -> str:
    return "\n".join(b["text"] for b in _last_blocks(body) if b["type"] == "text").strip()


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


# --- what tools returned ---


def _results(body: Json) -> list[tuple[str, Json]]:
    """The tool's name and its result, for each result in the last message."""
    results = [block for block in _last_blocks(body) if block["type"] == "tool_result"]
    if not results:
        return []
    names = {b["id"]: b["name"] for b in body["messages"][-2]["content"] if b["type"] == "tool_use"}
    return [(names[result["tool_use_id"]], result) for result in results]


def _told(name: str, result: Json) -> str:
    text = _shortened(_result_text(result.get("content")), LONGEST_RESULT)
    if result.get("is_error"):
        why = text.removesuffix(".") or "it gave no reason"
        return f"The tool {name} failed: {why}. (I am a simulated Claude.)"
    return f"The tool {name} returned: {text or 'nothing'}\n(I am a simulated Claude.)"


def _result_text(content: Any) -> str:
    if not isinstance(content, list):
        return content or ""
    return "\n".join(block.get("text") or f"[{block['type']}]" for block in content)


# --- a tool that the user names ---


def _wanted_tool(body: Json, question: str) -> Json | None:
    """The tool that must be called, or else the first one that the question names."""
    tools = [t for t in body.get("tools") or () if t.get("type", "custom") == "custom"]
    choice = body.get("tool_choice") or {}
    match choice.get("type"):
        case "none":
            tools = []
        case "any":
            return next(iter(tools), None)
        case "tool":
            return next((tool for tool in tools if tool["name"] == choice["name"]), None)
    return next((tool for tool in tools if _mention(tool["name"]).search(question)), None)


def _mention(name: str) -> re.Pattern[str]:
    words = r"[\s_-]+".join(map(re.escape, re.split(r"[_-]+", name.strip("_-"))))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _arguments(tool: Json, question: str) -> Json:
    """The required arguments, filled from the question as well as can be."""
    schema = tool["input_schema"]
    properties = schema.get("properties") or {}
    named = _mention(tool["name"]).search(question)
    after = question[named.end() :] if named else question
    words = _Words(after)
    return {
        name: words.fill(name, properties.get(name) or {}) for name in schema.get("required") or ()
    }


class _Words:
    """The pieces of a question, handed out one by one: quoted texts, numbers, the rest."""

    def __init__(self, text: str) -> None:
        self._quoted = iter(re.findall(r"[\"“']([^\"”']+)[\"”']", text))
        self._numbers = iter(re.findall(r"-?\d+(?:\.\d+)?", text))
        self._text = text
        self._rest = text.strip(" \t\n:.,;!?'\"")

    def fill(self, name: str, schema: Json) -> Any:
        if schema.get("enum"):
            return self._choose(schema["enum"])
        match schema.get("type"):
            case "integer":
                return int(float(next(self._numbers, "1")))
            case "number":
                return float(next(self._numbers, "1"))
            case "boolean":
                return True
            case "array":
                return []
            case "object":
                return {}
        return next(self._quoted, None) or self._rest or name

    def _choose(self, allowed: list[Any]) -> Any:
        text = self._text.lower()
        return next((value for value in allowed if str(value).lower() in text), allowed[0])
