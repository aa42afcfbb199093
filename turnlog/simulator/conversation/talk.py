"""The request read as a conversation: who asked what, which tools were called, what they gave."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..script import Json

NOTE = re.compile(r"\n\[[^\n]+\]\Z")  # what a person said about the call


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

    @property
    def is_changed(self) -> bool:
        """Whether a person changed what was asked for before allowing it."""
        note = NOTE.search(self.text)
        return note is not None and "changed the arguments" in note[0]


@dataclass
class Turn:
    """What the user sent, the calls that followed, and what was said at the end."""

    question: str = ""
    blocks: list[Json] = field(default_factory=list)  # images, documents, search results
    calls: list[Done] = field(default_factory=list)
    said: str = ""


@dataclass(frozen=True)
class Talk:
    """The turns, oldest first; the last one is being answered."""

    turns: tuple[Turn, ...]
    body: Json

    @property
    def now(self) -> Turn:
        return self.turns[-1]

    @property
    def past(self) -> tuple[Turn, ...]:
        return self.turns[:-1]

    @property
    def is_first_answer(self) -> bool:
        return all(message["role"] == "user" for message in self.body["messages"])

    def before_now(self) -> "Talk":
        """The conversation as it was when the turn before was asked."""
        return Talk(self.past, self.body)


def read(body: Json) -> Talk:
    turns: list[Turn] = []
    results = _results(body)
    for message in body["messages"]:
        blocks = _blocks(message["content"])
        if message["role"] == "assistant":
            _add_answer(turns[-1], blocks, results)
        elif any(block["type"] != "tool_result" for block in blocks) or not turns:
            turns.append(_asked(blocks))
    return Talk(tuple(turns), body)


def text_of(content: Any) -> str:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(part for block in content for part in _texts(block))


def _texts(block: Json) -> Iterator[str]:
    match block.get("type"):
        case "text":
            yield str(block.get("text") or "")
        case "search_result":
            yield text_of(block.get("content"))
        case kind:
            yield f"[{kind}]"


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _asked(blocks: list[Json]) -> Turn:
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    others = [block for block in blocks if block["type"] not in ("text", "tool_result")]
    return Turn(question="\n".join(texts).strip(), blocks=others)


def _add_answer(turn: Turn, blocks: list[Json], results: dict[str, Json]) -> None:
    for block in blocks:
        if block["type"] == "text":
            turn.said = block["text"]
        elif block["type"] == "tool_use":
            turn.calls.append(_done(block, results.get(block["id"]) or {}))


def _results(body: Json) -> dict[str, Json]:
    return {
        block["tool_use_id"]: block
        for message in body["messages"]
        for block in _blocks(message["content"])
        if block["type"] == "tool_result"
    }


def _done(call: Json, result: Json) -> Done:
    content = result.get("content")
    blocks = tuple(content) if isinstance(content, list) else ()
    failed = bool(result.get("is_error"))
    return Done(call["name"], call["input"], text_of(content).strip(), failed, blocks)
