"""How large the window is, in tokens of its model, and where it begins when it is too large.

The model has reported how many tokens its last call had; only what came after that is estimated.
So a look at the window costs the same however long the session is. When the window has to move,
it moves by two thirds: then its beginning stays for a long time, as the prompt cache needs it.
It is cut at the first event of a turn, so no call is without its result.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.events.usage import parts_of
from turnlog.projections.history.messages import MOST_OF_A_RESULT
from turnlog.projections.history.models import context_of

BYTES_A_TOKEN = 4
# What one turn costs the server grows with the messages of the window; so they have a limit too.
MOST_MESSAGES, KEPT_MESSAGES = 400, 100
# A summary that failed is tried again when the window has grown: by messages, or by a part of it.
GROWN_MESSAGES, GROWN_PART = 20, 10
FileTokens = Mapping[str, int]  # by message: what its files weigh
NO_FILES: FileTokens = MappingProxyType({})


class Room(NamedTuple):
    """How many tokens a prompt may have."""

    most: int  # beyond this the window moves
    kept: int  # of them, when it has moved
    last: int  # beyond this it moves even if nobody can summarize what leaves it


class Size(NamedTuple):
    """How much the model would be told."""

    tokens: int
    messages: int


def room_for(model: str, wanted: int, max_tokens: int) -> Room:
    """`wanted` tokens, as far as the model's context goes and an answer still fits in."""
    last = max(context_of(model) * 9 // 10 - max_tokens, 1_000)
    most = min(wanted, last)
    return Room(most, most // 3, last)


class Span:
    """Some events of the log: what they weigh, and how many messages there are."""

    def __init__(self) -> None:
        self.messages = 0
        self._weight = 0
        self._with_files: list[str] = []  # ids of questions

    def add(self, event: Event, weight: int) -> None:
        self._weight += weight
        if isinstance(event, k.UserMessageSent):
            self.messages += 1
            if event.files:
                self._with_files.append(event.message_id)
        elif isinstance(event, k.Message):
            self.messages += 1

    def tokens(self, files: FileTokens) -> int:
        return self._weight + sum(files.get(message_id, 0) for message_id in self._with_files)


class Measure:
    """How large a window is for its speaker, counted as its events come."""

    def __init__(self, speaker: str) -> None:
        self._speaker = speaker
        self._all = Span()
        self._reported = 0  # what the speaker's last call had, with its answer
        self._newer: Span | None = None  # since that call; None: there was none in this window
        self._since_move: Span | None = None
        self._failed: k.SummaryFailed | None = None  # since the window has moved
        self.was_too_long = False  # the model could not take in what it was last told

    def add(self, entry: Stamped) -> None:
        event, weight = entry.event, _weight(entry.event)
        for span in (self._all, self._newer, self._since_move):
            if span is not None:
                span.add(event, weight)
        match event:
            case k.Message(stop_reason=reason):
                self.was_too_long = reason == "model_context_window_exceeded"
                if entry.envelope.agent.id == self._speaker and (tokens := _reported(event)):
                    self._reported, self._newer = tokens, Span()
            case k.Error(code=code):
                self.was_too_long = code == "context_exceeded"
            case k.HistoryAnchored():  # what was reported before is of another window
                self._reported, self._newer, self.was_too_long = 0, None, False
                self._since_move, self._failed = Span(), None
            case k.SummaryFailed():
                self._failed = event

    def size(self, files: FileTokens = NO_FILES) -> Size:
        """Of the prompt that the speaker would get."""
        newer = self._all if self._newer is None else self._newer
        return Size(self._reported + newer.tokens(files), self._all.messages)

    def is_too_soon(self, size: Size, room: Room, files: FileTokens = NO_FILES) -> bool:
        """Whether the window has hardly grown since it moved, or since a summary of it failed.

        A prompt and tools that take up most of the room are not made smaller by moving.
        """
        if self._failed is not None:
            grown = size.tokens - self._failed.tokens >= room.most // GROWN_PART
            return not grown and size.messages - self._failed.messages < GROWN_MESSAGES
        if (since := self._since_move) is not None:
            return since.tokens(files) < room.kept and since.messages < GROWN_MESSAGES
        return False


def measured(log: Iterable[Stamped], speaker: str) -> Measure:
    measure = Measure(speaker)
    for entry in log:
        measure.add(entry)
    return measure


def is_too_large(size: Size, room: Room) -> bool:
    return size.tokens > room.most or size.messages > MOST_MESSAGES


def moved_anchor(
    log: Sequence[Stamped],
    size: Size,
    room: Room,
    *,
    too_long: bool = False,
    files: FileTokens = NO_FILES,
) -> int | None:
    """The new start of the window, if it is too large; else None.

    `too_long`: the model said that it is, whatever its size. Then less is kept.
    """
    if not too_long and not is_too_large(size, room):
        return None
    weights = [_weight(entry.event) + _files(entry.event, files) for entry in log]
    whole = max(sum(weights), 1)
    most = room.kept * whole // max(size.tokens, 1)  # in the unit of the weights
    most = min(most, whole // 2) if too_long else most
    anchor, weight, messages = None, 0, 0
    for entry, more in zip(reversed(log), reversed(weights), strict=True):
        weight, messages = weight + more, messages + _is_message(entry)
        if anchor is not None and (weight > most or messages > KEPT_MESSAGES):
            break
        if isinstance(entry.event, k.UserMessageSent):
            anchor = entry.position
    return anchor if anchor is not None and anchor > log[0].position else None


def must_move(size: Size, room: Room) -> bool:
    """Whether there is no room left to wait for a better moment."""
    return size.tokens > room.last or size.messages > 2 * MOST_MESSAGES


def _reported(message: k.Message) -> int:
    """How many tokens the call had, with its answer. 0: nobody knows.

    A report with searches or compactions counts what was read inside of the call several times,
    so it says nothing about the prompt.
    """
    parts = parts_of(message.model, message.reported)
    one = len(parts) == 1 and parts[0].prompt_tokens and not parts[0].web_searches
    return parts[0].total_tokens if one else 0


def _weight(event: Event) -> int:
    """An estimate of its tokens, without its files."""
    match event:
        case k.UserMessageSent(content=content):
            return len(content.encode()) // BYTES_A_TOKEN + 5
        case k.Message(blocks=blocks):
            return len(msgspec.json.encode(blocks)) // BYTES_A_TOKEN
        case k.ToolResult(result=value):
            size = min(len(msgspec.json.encode(value)), MOST_OF_A_RESULT)
            return size // BYTES_A_TOKEN + 5
    return 0


def _files(event: Event, files: FileTokens) -> int:
    return files.get(event.message_id, 0) if isinstance(event, k.UserMessageSent) else 0


def _is_message(entry: Stamped) -> bool:
    return isinstance(entry.event, k.UserMessageSent | k.Message)
