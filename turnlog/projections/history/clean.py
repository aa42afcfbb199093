"""Histories that were found clean: of one that has grown, only what is new is checked.

A history grows at its end. What stood before the last turn and broke no rule breaks none later:
rules look at a block, at a message, at its neighbours, or at the turn that runs. The few that look
at everything are answered by what was counted before: ids, images, what can be cited. A history
with anything that has no row in PLAIN is always checked in full. In doubt, so is every other.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from turnlog.projections.history.blocks import is_server_result
from turnlog.projections.history.checks.files import (
    CITED,
    MOST_IMAGES_IN_SHORT_CONTEXT,
    is_citing,
)
from turnlog.projections.history.lint import Finding, lint
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request

ApiMessage = dict[str, Any]
MOST_WORDS = 1_000_000  # characters: no request of so many is too large, however they are encoded
OF_A_MENDED_MESSAGE = 300  # bytes of memory
# Blocks that no rule counts over the whole history, but for what `_Seen` counts.
PLAIN = frozenset(
    (
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_result"),
        *("image", *CITED, "server_tool_use", "web_search_tool_result"),
    )
)


def is_plain_talk(messages: Sequence[ApiMessage]) -> bool:
    """Whether it is words and nothing else, in turns, from the user to the user: then no rule is
    broken, and none is asked.
    """
    seen = _Seen()
    seen.look_at(messages)
    return seen.is_plain_talk


def last_turn(messages: Sequence[ApiMessage]) -> int:
    """Where the last turn begins: the last message of the user that holds no result."""
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        if message["role"] == "user" and "tool_result" not in map(_type, message["content"]):
            return index
    return 0


class Checked(NamedTuple):
    """A history that the API takes, and what had to be repaired for it."""

    messages: list[ApiMessage]
    repaired: list[Finding]


class CleanHistory:
    """How much of a history is known to break no rule, as it is or once it was repaired. The
    history only grows at its end: the message at the end of the known part tells it from others.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._size = 0  # messages of the known part
        self._last: ApiMessage | None = None  # the last of them
        self._mended: list[ApiMessage] = []  # the known part, where it was repaired
        self._repaired: list[Finding] = []  # in it
        self._seen = _Seen()
        self._without: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Of memory: a repaired message is another one, of blocks that are mostly the same."""
        return OF_A_MENDED_MESSAGE * len(self._mended)

    def of_what_was_told(self) -> "CleanHistory":
        """The same for the history that came of it, which goes on by itself from here."""
        copy = CleanHistory()
        copy._size, copy._last, copy._without = self._size, self._last, self._without
        if self._repaired:
            copy._size, copy._last = len(self._mended), self._mended[-1]
        copy._seen = self._seen.copy()
        return copy

    def check(
        self, messages: list[ApiMessage], open_calls: frozenset[str], without: Collection[str]
    ) -> Checked:
        """The messages with every broken rule repaired; unchanged if no rule is broken."""
        known = self._known(messages, without)
        if not known:
            self.forget()
        if not self._grew_clean(messages[known:], open_calls, without):
            self.forget()
            repaired = repair(Request({"messages": messages}, open_calls), without=without)
            checked = Checked(repaired.body["messages"], repaired.found)
            if not repaired.left and not open_calls:
                self._remember_anew(messages, checked, without)
            return checked
        checked = Checked(messages, [])
        if self._repaired:
            checked = Checked([*self._mended, *messages[known:]], self._repaired)
        if not open_calls:  # later on they are open no more
            self._go_on(messages, known, without)
        return checked

    def _grew_clean(
        self, tail: Sequence[ApiMessage], open_calls: frozenset[str], without: Collection[str]
    ) -> bool:
        """Whether it breaks no rule after the known part. False: only a full check can tell."""
        seen = self._seen.copy()
        seen.look_at(tail)
        if seen.is_plain_talk:
            return True
        if not self._size or not seen.is_countable or not tail:
            return False
        return not lint(Request({"messages": tail}, open_calls), without)

    def _go_on(self, messages: Sequence[ApiMessage], known: int, without: Collection[str]) -> None:
        """Know it up to its last turn, which may still change."""
        until = last_turn(messages)
        if until < known:
            self.forget()
            return
        if self._repaired:
            self._mended += messages[known:until]
        self._seen.look_at(messages[known:until])
        self._size, self._without = until, frozenset(without)
        self._last = messages[until - 1] if until else None

    def _remember_anew(
        self, messages: Sequence[ApiMessage], checked: Checked, without: Collection[str]
    ) -> None:
        """Know what was repaired, if all of it stands before the last turn.

        What follows does not change that: but a call of the provider's own tools may be open or
        cut off, as its turn goes on or not.
        """
        if not checked.repaired:
            self._go_on(messages, 0, without)
            return
        until = last_turn(messages)
        tail = len(messages) - until
        mended, same = checked.messages[:-tail], checked.messages[-tail:]
        are_same = all(a is b for a, b in zip(same, messages[until:], strict=False))
        if not mended or len(same) != tail or not are_same:
            return
        self._seen.look_at(mended)
        if any(_place(each) >= until for each in checked.repaired) or self._seen.searches:
            self.forget()
            return
        self._mended, self._repaired = mended, checked.repaired
        self._size, self._without = until, frozenset(without)
        self._last = messages[until - 1] if until else None

    def _known(self, messages: Sequence[ApiMessage], without: Collection[str]) -> int:
        size = self._size
        if size > len(messages) or self._without != frozenset(without):
            return 0
        return size if size and messages[size - 1] is self._last else 0


def _place(finding: Finding) -> float:
    """The message that it is about; infinite where it is about all of them."""
    parts = finding.place.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "messages" else math.inf


class _Seen:
    """What the rules count over all messages of a history."""

    def __init__(self) -> None:
        self._role = "assistant"  # who spoke last
        self._is_talk = True  # words and nothing else, in turns
        self._words = 0
        self._is_plain = True
        self._call_ids: set[str] = set()
        self._images = 0
        self._citing: set[bool] = set()
        self.searches = False  # or other tools of the provider

    def copy(self) -> "_Seen":
        copy = _Seen()
        copy.__dict__.update(self.__dict__)
        copy._call_ids, copy._citing = self._call_ids.copy(), self._citing.copy()
        return copy

    @property
    def is_plain_talk(self) -> bool:
        return self._is_talk and self._role == "user" and self._words <= MOST_WORDS

    @property
    def is_countable(self) -> bool:
        """Whether the rules that count over all of it hold for sure."""
        few = self._images <= MOST_IMAGES_IN_SHORT_CONTEXT and len(self._citing) < 2
        return self._is_plain and few

    def look_at(self, messages: Sequence[ApiMessage]) -> None:
        for message in messages:
            expected = "user" if self._role == "assistant" else "assistant"
            self._role, content = message["role"], message["content"]
            said = content and type(content) is list and len(message) == 2
            if self._role != expected or not said:
                self._is_talk = False
            for block in content:
                self._look_into(block)

    def _look_into(self, block: Any) -> None:
        kind = _type(block)
        words = block.get("text") if kind == "text" and len(block) == 2 else None
        if type(words) is str and words.strip():
            self._words += len(words)
            return
        self._is_talk = False
        if kind not in PLAIN or "cache_control" in block:
            self._is_plain = False
        elif kind == "tool_use":
            call = str(block.get("id"))
            self._is_plain = self._is_plain and call not in self._call_ids  # let the rules judge
            self._call_ids.add(call)
        elif kind == "image":
            self._images += 1
        elif kind == "server_tool_use" or is_server_result(kind):
            self.searches = True
        elif kind in CITED:
            self._citing.add(is_citing(block))
        elif kind == "tool_result" and isinstance(block.get("content"), list):
            for inner in block["content"]:
                self._look_into(inner)


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
