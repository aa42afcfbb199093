"""The request read as a conversation: who asked what, which tools were called, what they gave."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..script import Json

NOTE = re.compile(r"\n\[([^\n]+)\]\Z")  # what a person said about the call


@dataclass(frozen=True)
class Done:
    """A tool call and what became of it."""

    name: str
    input: Json
    text: str = ""
    failed: bool = False
    blocks: tuple[Json, ...] = ()

    @cached_property
    def value(self) -> Any:
        """The result as JSON, without a note that follows it; None when it is plain text."""
        try:
            return msgspec.json.decode(NOTE.sub("", self.text))
        except (msgspec.DecodeError, UnicodeEncodeError):
            return None

    @cached_property
    def rows(self) -> list[Json] | None:
        """The records of the result: a list, an object that is there for one list, or itself."""
        value = None if self.failed else self.value
        if isinstance(value, dict):
            lists = [part for part in value.values() if isinstance(part, list)]
            value = [value] if len(lists) != 1 or {"id", "number"} & set(value) else lists[0]
        is_list = isinstance(value, list) and all(isinstance(row, dict) for row in value)
        return value if is_list else None

    @property
    def kind(self) -> str:
        """What the tool is about: `list_tasks` -> task, `get_sales_invoice` -> sales_invoice."""
        return self.name.partition("_")[2].removesuffix("s")


@dataclass
class Turn:
    """What the user sent, the calls that followed, and the last text of the answer."""

    question: str = ""
    blocks: list[Json] = field(default_factory=list)  # images, documents, search results
    calls: list[Done] = field(default_factory=list)
    answer: str = ""


@dataclass(frozen=True)
class Talk:
    """The turns before this one, oldest first; and this one."""

    body: Json
    past: list[Turn]
    now: Turn


def read(body: Json) -> Talk:
    turns: list[Turn] = []
    every = [(message["role"], _blocks(message["content"])) for message in body["messages"]]
    results = {b["tool_use_id"]: b for _, bs in every for b in bs if b["type"] == "tool_result"}
    for role, blocks in every:
        if role == "assistant":
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            turns[-1].answer = (texts or [turns[-1].answer])[-1]
            calls = [block for block in blocks if block["type"] == "tool_use"]
            turns[-1].calls += [_done(call, results.get(call["id"]) or {}) for call in calls]
        elif not turns or any(_is_users(block) for block in blocks):
            others = [block for block in blocks if block["type"] not in ("text", "tool_result")]
            turns += [Turn(question) for question in _questions(blocks)] or [Turn()]
            turns[-1].blocks = others
    return Talk(body, turns[:-1], turns[-1])


# What an agent of a team is told of the others. It stands in the user's place.
_NOTE = re.compile(
    r"\[[^\[\]\n]{1,100}?(?: said:\]| hands over to you| called | returned | failed)"
)


def _is_users(block: Json) -> bool:
    is_note = block["type"] == "text" and _NOTE.match(block["text"]) is not None
    return block["type"] != "tool_result" and not is_note


def _questions(blocks: list[Json]) -> list[str]:
    """What the user wrote, as one question between two notes."""
    questions: list[list[str]] = [[]]
    for block in blocks:
        if block["type"] == "text" and _is_users(block):
            questions[-1].append(block["text"])
        elif block["type"] == "text":
            questions.append([])
    return ["\n".join(texts).strip() for texts in questions if texts]


def _done(call: Json, result: Json) -> Done:
    content = result.get("content")
    inside = tuple(content) if isinstance(content, list) else ()
    text, failed = text_of(content).strip(), bool(result.get("is_error"))
    return Done(call["name"], call["input"], text, failed, inside)


def text_of(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(block.get("text") or text_of(block.get("content")) for block in content)


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
