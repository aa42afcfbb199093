"""Histories that were found clean: of the next one, only what is new is checked.

A history grows at its end. What stood before the last turn and broke no rule breaks none later:
rules look at a block, at a message, at its neighbours, or at the turn that runs. The few that look
at everything are answered here or not at all: ids are compared, and a history with files, with
searches or with anything that has no row in PLAIN is always checked in full. In doubt, so is
every other.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from turnlog.projections.history.lint import lint
from turnlog.projections.history.request import Request

ApiMessage = dict[str, Any]
MOST_MESSAGES = 20_000  # of all sessions together
MOST_WORDS = 1_000_000  # characters: no request of so many is too large, however they are encoded
# Blocks that no rule counts over the whole history. A result is plain where its content is.
PLAIN = frozenset(("text", "thinking", "redacted_thinking", "tool_use", "tool_result"))


def is_plain_talk(messages: Sequence[ApiMessage]) -> bool:
    """Whether it is words and nothing else, in turns, from the user to the user: then no rule is
    broken, and none is asked.
    """
    size, role = 0, "assistant"
    for message in messages:
        expected = "user" if role == "assistant" else "assistant"
        role, content = message["role"], message["content"]
        if role != expected or len(message) != 2 or not content or type(content) is not list:
            return False
        for block in content:
            words = block.get("text") if _type(block) == "text" and len(block) == 2 else None
            if type(words) is not str or not words.strip():
                return False
            size += len(words)
    return role == "user" and size <= MOST_WORDS


def last_turn(messages: Sequence[ApiMessage]) -> int:
    """Where the last turn begins: the last message of the user that holds no result."""
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        if message["role"] == "user" and "tool_result" not in map(_type, message["content"]):
            return index
    return 0


class CleanHistory:
    """The newest history of one agent in one session that broke no rule."""

    def __init__(self, changed: Callable[[int], None] = lambda messages: None) -> None:
        """`changed` is told how many messages are remembered more, or less."""
        self._messages: list[ApiMessage] = []
        self._without: frozenset[str] = frozenset()
        self._changed = changed

    @property
    def size(self) -> int:
        return len(self._messages)

    def grew_clean(
        self, messages: Sequence[ApiMessage], open_calls: frozenset[str], without: Collection[str]
    ) -> bool:
        """Whether this is the one that is known, and clean what has come to it."""
        known = self.size
        if not known or known >= len(messages) or self._without != frozenset(without):
            return False
        head, tail = messages[:known], messages[known:]
        if head != self._messages or not _is_plain(messages) or _repeats_an_id(head, tail):
            return False
        return not lint(Request({"messages": tail}, open_calls), without)

    def remember(self, messages: Sequence[ApiMessage], without: Collection[str]) -> None:
        """Up to its last turn, which may still change."""
        before = self.size
        self._messages, self._without = [*messages[: last_turn(messages)]], frozenset(without)
        self._changed(self.size - before)


class CleanHistories:
    """Those of all sessions, within bounds; those that were used last at the end."""

    def __init__(self, most: int = MOST_MESSAGES) -> None:
        self._most = most
        self._size = 0
        self._known: OrderedDict[tuple[str, str], CleanHistory] = OrderedDict()

    def of(self, session_id: str, agent_id: str) -> CleanHistory:
        key = (session_id, agent_id)
        if key not in self._known:
            self._known[key] = CleanHistory(self._count)
        self._known.move_to_end(key)
        return self._known[key]

    def _count(self, messages: int) -> None:
        self._size += messages
        while self._size > self._most:
            _, oldest = self._known.popitem(last=False)
            self._size -= oldest.size
            oldest._changed = lambda messages: None  # whoever still has it keeps it alone


def _is_plain(messages: Sequence[ApiMessage]) -> bool:
    for message in messages:
        for block in message["content"]:
            kind = _type(block)
            if kind not in PLAIN or "cache_control" in block:
                return False
            if kind == "tool_result" and not isinstance(block.get("content"), str):
                return False
    return True


def _repeats_an_id(head: Sequence[ApiMessage], tail: Sequence[ApiMessage]) -> bool:
    new = _call_ids(tail)
    return bool(new) and not new.isdisjoint(_call_ids(head))


def _call_ids(messages: Sequence[ApiMessage]) -> set[str]:
    return {
        str(block.get("id"))
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if _type(block) == "tool_use"
    }


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
