"""Histories that were found clean: of one that has grown, only what is new is checked.

A history grows at its end. What stood before the last turn and broke no rule breaks none later:
rules look at a block, at a message, at its neighbours, or at the turn that runs. The few that look
at everything are answered by what was counted before: ids, images, what can be cited. What is new
is mostly plain (`plain.py`), and then no rule is asked. A history with anything that is not in
COUNTED is always checked in full. In doubt, so is every other.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import Any

import msgspec
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.projections.history.blocks import is_server_result
from turnlog.projections.history.checks.files import (
    CITED,
    MOST_IMAGES_IN_SHORT_CONTEXT,
    is_citing,
)
from turnlog.projections.history.lint import Finding, lint
from turnlog.projections.history.messages import ApiMessage
from turnlog.projections.history.plain import Plain, plain
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request

# What the model sent goes back with whatever the API has put into it, known to us or not.
NOT_OURS_TO_JUDGE = frozenset(("blocks-are-known", "fields-are-known"))
ENDS_WITHOUT_SPACE = "prefill-ends-without-space"  # a rule about the last word alone
# Blocks that no rule counts over the whole history, but for what `Seen` counts.
COUNTED = frozenset(
    (
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_result"),
        *("image", *CITED, "server_tool_use", "web_search_tool_result"),
    )
)


def last_turn(messages: Sequence[ApiMessage]) -> int:
    """Where the last turn begins: the last message of the user that holds no result."""
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        if message["role"] == "user" and "tool_result" not in map(_type, message["content"]):
            return index
    return 0


class Checked(msgspec.Struct, frozen=True):
    """A history that the API takes, and what had to be repaired for it."""

    messages: list[ApiMessage]
    repaired: Sequence[Finding]


class Seen(msgspec.Struct, frozen=True):
    """What the rules count over all messages of a history."""

    call_ids: Set[str] = frozenset()
    images: int = 0
    citing: Set[bool] = frozenset()
    searches: bool = False  # or other tools of the provider
    is_countable: bool = True  # whether the rules that count over all of it hold for sure

    def plain(self, messages: Sequence[ApiMessage], without: Set[str]) -> Plain | None:
        """What these hold that come next, if they break no rule for sure, but for some."""
        new = plain(messages) if self.is_countable else None
        if new is None or (new.ends_in_space and ENDS_WITHOUT_SPACE not in without):
            return None
        return None if new.calls and self.call_ids & {*new.calls} else new

    def with_calls(self, ids: Sequence[str]) -> "Seen":
        return replace(self, call_ids=self.call_ids | {*ids})

    def with_messages(self, messages: Iterable[ApiMessage]) -> "Seen":
        blocks = [*_all_blocks(messages)]
        calls = [str(block.get("id")) for kind, block in blocks if kind == "tool_use"]
        call_ids = self.call_ids | {*calls}
        images = self.images + len([kind for kind, _ in blocks if kind == "image"])
        citing = self.citing | {is_citing(block) for kind, block in blocks if kind in CITED}
        return Seen(
            call_ids=call_ids,
            images=images,
            citing=citing,
            searches=self.searches or any(_is_of_provider(kind) for kind, _ in blocks),
            is_countable=self.is_countable
            and all(kind in COUNTED and "cache_control" not in block for kind, block in blocks)
            and len(call_ids) == len(self.call_ids) + len(calls)  # else it is for the rules
            and images <= MOST_IMAGES_IN_SHORT_CONTEXT
            and len(citing) < 2,
        )


def _all_blocks(messages: Iterable[ApiMessage]) -> Iterator[tuple[Any, Any]]:
    """Each with its type, also those inside of results."""
    for message in messages:
        for block in message["content"]:
            kind = _type(block)
            yield kind, block
            if kind == "tool_result" and isinstance(block.get("content"), list):
                yield from _all_blocks([block])


def _is_of_provider(kind: Any) -> bool:
    return kind == "server_tool_use" or (isinstance(kind, str) and is_server_result(kind))


NOTHING_SEEN = Seen()


class CleanHistory(msgspec.Struct):
    """How much of a history is known to break no rule, as it is or once it was repaired. The
    history only grows at its end: the message at the end of the known part tells it from others.
    """

    size: int = 0  # messages of the known part
    last: ApiMessage | None = None  # the last of them
    mended: Sequence[ApiMessage] = ()  # the known part, where it was repaired
    repaired: Sequence[Finding] = ()  # in it
    seen: Seen = NOTHING_SEEN
    without: Set[str] = frozenset()

    def forget(self) -> None:
        self.size, self.last, self.mended, self.repaired = 0, None, (), ()
        self.seen, self.without = NOTHING_SEEN, frozenset()

    def of_what_was_told(self) -> "CleanHistory":
        """The same for the history that came of it, which goes on by itself from here."""
        size, last = self.size, self.last
        if self.repaired:
            size, last = len(self.mended), self.mended[-1]
        return CleanHistory(size, last, seen=self.seen, without=self.without)

    def check(
        self, messages: list[ApiMessage], open_calls: frozenset[str], without: Set[str]
    ) -> Checked:
        """The messages with every broken rule repaired; unchanged if no rule is broken."""
        known = self._known(messages, without)
        if not known:
            self.forget()
        tail = messages[known:]
        new = self.seen.plain(tail, without)
        if new is None and not self._grew_clean(tail, open_calls, without):
            self.forget()
            repaired = repair(Request({"messages": messages}, open_calls), without=without)
            checked = Checked(repaired.body["messages"], repaired.found)
            if not repaired.left and not open_calls:
                self._remember_anew(messages, checked, without)
            return checked
        checked = Checked(messages, [])
        if self.repaired:
            checked = Checked([*self.mended, *tail], self.repaired)
        if not open_calls:  # later on they are open no more
            self._go_on(messages, known, without, new)
        return checked

    def _grew_clean(
        self, tail: Sequence[ApiMessage], open_calls: frozenset[str], without: Collection[str]
    ) -> bool:
        """Whether it breaks no rule after the known part. False: only a full check can tell."""
        if not self.size or not tail:
            return False
        if not self.seen.with_messages(tail).is_countable:
            return False
        return not lint(Request({"messages": tail}, open_calls), without)

    def _go_on(
        self, messages: Sequence[ApiMessage], known: int, without: Set[str], new: Plain | None
    ) -> None:
        """Know it up to its last turn, which may still change. `new`: what comes after the known
        part, where that is plain."""
        until = last_turn(messages) if new is None else known + new.last_turn
        if until < known:
            self.forget()
            return
        if new is None:
            self.seen = self.seen.with_messages(messages[known:until])
        elif new.settled:
            self.seen = self.seen.with_calls(new.settled)
        if self.repaired:
            self.mended = [*self.mended, *messages[known:until]]
        self.size, self.without = until, without
        self.last = messages[until - 1] if until else None

    def _remember_anew(
        self, messages: Sequence[ApiMessage], checked: Checked, without: Set[str]
    ) -> None:
        """Know what was repaired, if all of it stands before the last turn.

        What follows does not change that: but a call of the provider's own tools may be open or
        cut off, as its turn goes on or not.
        """
        if not checked.repaired:
            self._go_on(messages, 0, without, None)
            return
        until = last_turn(messages)
        tail = len(messages) - until
        mended, same = checked.messages[:-tail], checked.messages[-tail:]
        are_same = all(a is b for a, b in zip(same, messages[until:], strict=False))
        if not mended or len(same) != tail or not are_same:
            return
        self.seen = self.seen.with_messages(mended)
        if any(_place(each) >= until for each in checked.repaired) or self.seen.searches:
            self.forget()
            return
        self.mended, self.repaired = mended, checked.repaired
        self.size, self.without = until, without
        self.last = messages[until - 1] if until else None

    def _known(self, messages: Sequence[ApiMessage], without: Set[str]) -> int:
        size = self.size
        if not 0 < size <= len(messages) or self.without != without:
            return 0
        return size if messages[size - 1] is self.last else 0


def mended(
    messages: list[ApiMessage],
    *,
    to_be_answered: Set[str] = frozenset(),
    fully: bool = False,
    ended: bool = False,
    clean: CleanHistory | None = None,
) -> Checked:
    """The messages with every broken rule repaired; unchanged if no rule is broken.

    `fully`: also repair blocks and fields that the model sent and we do not know. This is for a
    model that rejects its own blocks. `ended`: the assistant does not go on from its last word.
    `clean`: what was clean before is not checked again.
    """
    without = frozenset[str]() if fully else NOT_OURS_TO_JUDGE
    without = without | {ENDS_WITHOUT_SPACE} if ended else without
    return (clean or CleanHistory()).check(messages, frozenset(to_be_answered), without)


def repair_record(repaired: Sequence[Finding]) -> k.HistoryRepaired | None:
    """What is kept of these repairs."""
    repairs = [{"rule": finding.rule, "place": finding.place} for finding in repaired]
    return k.HistoryRepaired(repairs=repairs) if repairs else None


def was_mended_in_full(log: Iterable[Stamped]) -> bool:
    """Whether the model has rejected blocks that it had sent itself."""
    events = (entry.event for entry in log)
    return any(is_in_full(event) for event in events if isinstance(event, k.HistoryRepaired))


def is_in_full(record: k.HistoryRepaired) -> bool:
    return any(each["rule"] in NOT_OURS_TO_JUDGE for each in record.repairs)


def _place(finding: Finding) -> float:
    """The message that it is about; infinite where it is about all of them."""
    parts = finding.place.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[0] == "messages" else math.inf


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None
