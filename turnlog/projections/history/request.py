"""A request to the Messages API as the rules see it, whatever it holds.

What is no message or no block is left out of the views; the rules of shape name it. So every
other rule may rely on it that a block is an object with a type, and on nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

Json = dict[str, Any]
Found = Iterator[tuple[str, str]]  # places, and what is wrong there
ROLES = ("user", "assistant", "system")


class Placed(NamedTuple):
    """A block and its place: `messages.3.content.1`."""

    at: str
    message: int
    role: str
    block: Json


@dataclass(frozen=True)
class Request:
    """A body with a list of messages.

    `open_calls` are calls of tools that still run: their results come later. `size` is the
    size in bytes where it is known, `for_model` a model that the body does not name.
    """

    body: Json
    open_calls: frozenset[str] = frozenset()
    size: int = 0
    for_model: str = ""

    @property
    def messages(self) -> list[Any]:
        messages: list[Any] = self.body["messages"]
        return messages

    @property
    def model(self) -> str:
        return self.for_model or word(self.body, "model")

    @property
    def thinking(self) -> str:
        """The type of thinking that is asked for; empty where nothing is said."""
        thinking = self.body.get("thinking")
        return word(thinking, "type") if isinstance(thinking, dict) else ""

    @cached_property
    def said(self) -> list[tuple[int, Json]]:
        """The messages that are messages, with their numbers."""
        return [(index, each) for index, each in enumerate(self.messages) if is_message(each)]

    @cached_property
    def blocks(self) -> list[Placed]:
        """Every block of every message. A plain string counts as one text block."""
        return [
            Placed(at, index, message["role"], block)
            for index, message in self.said
            for at, block in inside(f"messages.{index}", message["content"])
        ]

    @cached_property
    def nested(self) -> list[Placed]:
        """The same, and the blocks inside of tool results right after their result."""
        nested: list[Placed] = []
        for placed in self.blocks:
            nested.append(placed)
            if placed.block["type"] == "tool_result":
                content = placed.block.get("content")
                inner = inside(placed.at, content if isinstance(content, list) else [])
                nested += [placed._replace(at=at, block=block) for at, block in inner]
        return nested

    @cached_property
    def by_type(self) -> dict[str, list[Placed]]:
        return _by_type(self.blocks)

    @cached_property
    def nested_by_type(self) -> dict[str, list[Placed]]:
        return _by_type(self.nested)

    def of(self, *types: str) -> list[Placed]:
        """The blocks of these types. Of several types, those of the first come first."""
        return [placed for type in types for placed in self.by_type.get(type, ())]

    def nested_of(self, *types: str) -> list[Placed]:
        return [placed for type in types for placed in self.nested_by_type.get(type, ())]

    def with_messages(self, messages: Sequence[Any]) -> Json:
        return self.body | {"messages": list(messages)}


def is_message(message: Any) -> TypeGuard[Json]:
    return (
        isinstance(message, dict)
        and message.get("role") in ROLES
        and isinstance(message.get("content"), str | list)
    )


def is_block(block: Any) -> TypeGuard[Json]:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def inside(at: str, content: Any) -> Iterator[tuple[str, Json]]:
    """The blocks of a content, with their places."""
    if isinstance(content, str):
        yield f"{at}.content", text(content)
    elif isinstance(content, list):
        for index, block in enumerate(content):
            if is_block(block):
                yield f"{at}.content.{index}", block


def _by_type(blocks: Sequence[Placed]) -> dict[str, list[Placed]]:
    found: dict[str, list[Placed]] = {}
    for placed in blocks:
        found.setdefault(placed.block["type"], []).append(placed)
    return found


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def as_blocks(content: Any) -> list[Any]:
    """A content as a list; nobody else's list."""
    return [text(content)] if isinstance(content, str) else list(content)


def word(value: Json, name: str) -> str:
    """A field as text; empty where it is not there or not text."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def short(value: Any) -> str:
    """A value as it may stand in a sentence, whatever it is."""
    if isinstance(value, dict | list):
        return f"{type(value).__name__} of {len(value)}"
    shown = repr(value if not isinstance(value, str) else value[:60])
    return shown if len(shown) <= 80 else shown[:77] + "..."


Change = Callable[[Placed], Sequence[Json]]  # a block into one, none or several


def each_block(request: Request, change: Change) -> Json:
    """The body with every block changed. What stays as it is stays the same object."""
    return request.with_messages(
        [_rewritten(index, message, change) for index, message in enumerate(request.messages)]
    )


def deep(change: Change) -> Change:
    """The change for blocks inside of tool results too."""

    def both(placed: Placed) -> Sequence[Json]:
        block = placed.block
        content = block.get("content")
        if block["type"] == "tool_result" and isinstance(content, list):
            inner = _changed(placed, content, change)
            block = block if inner is content else block | {"content": inner}
        return change(placed._replace(block=block))

    return both


def _rewritten(index: int, message: Any, change: Change) -> Any:
    if not is_message(message):
        return message
    content = message["content"]
    here = Placed(f"messages.{index}", index, message["role"], {})
    changed = _changed(here, content, change)
    return message if changed is content else message | {"content": changed}


def _changed(here: Placed, content: Any, change: Change) -> Any:
    """The same object when nothing has changed."""
    if isinstance(content, str):
        whole = text(content)
        blocks = list(change(here._replace(at=f"{here.at}.content", block=whole)))
        return content if blocks == [whole] else blocks
    blocks = []
    for index, block in enumerate(content):
        at = f"{here.at}.content.{index}"
        blocks += change(here._replace(at=at, block=block)) if is_block(block) else [block]
    same = len(blocks) == len(content) and all(a is b for a, b in zip(blocks, content, strict=True))
    return content if same else blocks
