"""A request as the rules see it, and the exception that says why it is not answered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from .script import STATUS, Json


class Refused(Exception):
    """The API would not take this request."""

    def __init__(self, status: int, type: str, message: str) -> None:
        super().__init__(message)
        self.status, self.type, self.message = status, type, message


def refuse(message: str, type: str = "invalid_request_error") -> NoReturn:
    raise Refused(STATUS[type], type, message)


class Placed(NamedTuple):
    """A content block and its place: `messages.3.content.1`."""

    at: str
    message: int
    role: str
    block: Json


@dataclass(frozen=True)
class Request:
    """The headers (lower case) and the body of one call."""

    headers: Mapping[str, str]
    body: Json

    @property
    def messages(self) -> list[Json]:
        messages: list[Json] = self.body["messages"]
        return messages

    @cached_property
    def blocks(self) -> list[Placed]:
        """Every block of every message; a plain string counts as one text block."""
        return [
            Placed(at, index, message["role"], block)
            for index, message in enumerate(self.messages)
            for at, block in children(f"messages.{index}", message["content"])
        ]

    @cached_property
    def nested(self) -> list[Placed]:
        """The same, and the blocks inside of tool results right after their result."""
        return [inner for placed in self.blocks for inner in (placed, *_inside(placed))]

    def of(self, *types: str) -> list[Placed]:
        return [placed for placed in self.blocks if placed.block["type"] in types]


def children(at: str, content: Any) -> Iterator[tuple[str, Json]]:
    if isinstance(content, str):
        yield f"{at}.content", {"type": "text", "text": content}
        return
    for index, block in enumerate(content):
        yield f"{at}.content.{index}", block


def _inside(placed: Placed) -> Iterator[Placed]:
    content = placed.block.get("content")
    if placed.block["type"] == "tool_result" and isinstance(content, list):
        for at, block in children(placed.at, content):
            yield placed._replace(at=at, block=block)
