"""The rules that the Messages API holds a history to, each as a small function with a name."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

ApiMessage = dict[str, Any]
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


class Finding(NamedTuple):
    """A broken rule and where."""

    rule: str
    place: str


def lint(messages: Sequence[ApiMessage]) -> list[Finding]:
    """Every rule that the history breaks. Empty: the API takes it."""
    return [Finding(name, place) for name, rule in RULES.items() for place in rule(messages)]


def _first_is_user(messages: Sequence[ApiMessage]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user":
        yield "messages.0"


def _roles_take_turns(messages: Sequence[ApiMessage]) -> Iterator[str]:
    for index in range(1, len(messages)):
        if messages[index]["role"] == messages[index - 1]["role"]:
            yield f"messages.{index}"


def _content_is_there(messages: Sequence[ApiMessage]) -> Iterator[str]:
    for index, message in enumerate(messages):
        if not message["content"]:
            yield f"messages.{index}"


def _text_is_not_blank(messages: Sequence[ApiMessage]) -> Iterator[str]:
    for index, message in enumerate(messages):
        for place, block in enumerate(_blocks(message)):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{index}.content.{place}"


def _tools_are_answered_at_once(messages: Sequence[ApiMessage]) -> Iterator[str]:
    """Every tool_use has one tool_result in the next message, and no result is without one."""
    asked: list[str] = []
    for index, message in enumerate(messages):
        answers = [b["tool_use_id"] for b in _blocks(message) if b["type"] == "tool_result"]
        if sorted(answers) != sorted(asked):
            yield f"messages.{index}"
        asked = [b["id"] for b in _blocks(message) if b["type"] == "tool_use"]
    if asked:
        yield f"messages.{len(messages) - 1}"


def _results_come_first(messages: Sequence[ApiMessage]) -> Iterator[str]:
    for index, message in enumerate(messages):
        kinds = [block["type"] == "tool_result" for block in _blocks(message)]
        if kinds != sorted(kinds, reverse=True):
            yield f"messages.{index}"


def _tool_ids_are_unique(messages: Sequence[ApiMessage]) -> Iterator[str]:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for block in _blocks(message):
            if block["type"] == "tool_use":
                if block["id"] in seen:
                    yield f"messages.{index}"
                seen.add(block["id"])


def _server_tools_are_whole(messages: Sequence[ApiMessage]) -> Iterator[str]:
    """The provider's own tools: a call and its result stand in one message, or neither does."""
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        called = {block["id"] for block in blocks if block["type"] in SERVER_CALLS}
        if called != {block["tool_use_id"] for block in blocks if is_server_result(block)}:
            yield f"messages.{index}"


def is_server_result(block: dict[str, Any]) -> bool:
    kind: str = block["type"]
    return kind.endswith("_tool_result")


def _blocks(message: ApiMessage) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


RULES: dict[str, Callable[[Sequence[ApiMessage]], Iterator[str]]] = {
    "first-is-user": _first_is_user,
    "roles-take-turns": _roles_take_turns,
    "content-is-there": _content_is_there,
    "text-is-not-blank": _text_is_not_blank,
    "tools-are-answered-at-once": _tools_are_answered_at_once,
    "results-come-first": _results_come_first,
    "tool-ids-are-unique": _tool_ids_are_unique,
    "server-tools-are-whole": _server_tools_are_whole,
}
