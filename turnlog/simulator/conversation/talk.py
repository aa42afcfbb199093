"""The request read as a conversation: who asked what, which tools were called, what they gave."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from ..script import Json

EARLIER = "[This conversation began earlier."  # begins a summary
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
    answer: str = ""  # of whoever spoke last
    task: str = ""  # what another agent of the team wants done


@dataclass(frozen=True)
class Talk:
    """The turns before this one, oldest first; and this one."""

    body: Json
    past: list[Turn]
    now: Turn
    before: str = ""  # a summary of what came earlier


def read(body: Json) -> Talk:
    turns: list[Turn] = []
    before: list[str] = []
    every = [(message["role"], _blocks(message["content"])) for message in body["messages"]]
    results = {b["tool_use_id"]: b for _, bs in every for b in bs if b["type"] == "tool_result"}
    for role, blocks in every:
        if role == "assistant":
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            turns[-1].answer = (texts or [turns[-1].answer])[-1]
            calls = [block for block in blocks if block["type"] == "tool_use"]
            turns[-1].calls += [_done(call, results.get(call["id"]) or {}) for call in calls]
        else:
            before += [block["text"] for block in blocks if _is_summary(block)]
            _hear([block for block in blocks if not _is_summary(block)], turns)
    return Talk(body, turns[:-1], turns[-1], "\n".join(before))


def _is_summary(block: Json) -> bool:
    """What stands before a conversation that has become long."""
    return bool(block["type"] == "text") and str(block["text"]).startswith(EARLIER)


# What an agent of a team is told of the others, and what a person found out about a call that was
# in doubt. It stands in the user's place.
_NOTE = re.compile(
    r"\[[^\[\]\n]{1,200}?(?:(?P<said> said:\] )|(?P<task> hands over to you(?:: )?)"
    r"| called | returned | failed| that was in doubt: )"
)


def _hear(blocks: list[Json], turns: list[Turn]) -> None:
    """What the user sent between two notes is one question, and begins a turn."""
    goes_on = False
    for block in blocks:
        note = _NOTE.match(block["text"]) if block["type"] == "text" else None
        if note is not None and turns:
            _take_note(block["text"][note.end() :], note.lastgroup, turns[-1])
            goes_on = False
        elif block["type"] != "tool_result" and note is None:
            turns += [] if goes_on else [Turn()]
            goes_on = True
            if block["type"] == "text":
                turns[-1].question = f"{turns[-1].question}\n{block['text']}".strip()
            else:
                turns[-1].blocks.append(block)
    turns += [] if turns else [Turn()]


def _take_note(text: str, kind: str | None, turn: Turn) -> None:
    if kind == "said":
        turn.answer = text
    elif kind == "task":
        turn.task = text.removesuffix("]")


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
