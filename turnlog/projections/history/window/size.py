"""How large the window is, in tokens of its model, and where it begins when it is too large.

The model has reported how many tokens its last call had; only what came after that is estimated.
So a look at the window costs the same however long the session is. When the window has to move,
it moves by two thirds: then its beginning stays for a long time, as the prompt cache needs it.
It is cut at the first event of a turn, so no call is without its result.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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


class Size(msgspec.Struct, frozen=True):
    """How much the model would be told."""

    tokens: int
    messages: int


@lru_cache(maxsize=100)
def room_for(model: str, wanted: int, max_tokens: int) -> Room:
    """`wanted` tokens, as far as the model's context goes and an answer still fits in."""
    last = max(context_of(model) * 9 // 10 - max_tokens, 1_000)
    most = min(wanted, last)
    return Room(most, most // 3, last)


class Mark(msgspec.Struct, frozen=True):
    """How far the events of a window had come at some moment."""

    weight: int = 0
    messages: int = 0
    with_files: int = 0  # questions


START = Mark()


class Measure:
    """How large a window is for its speaker, counted as its events come."""

    __slots__ = ("_failed", "_messages", "_moved", "_reported", "_speaker", "_told", "_weight",
                 "_with_files", "was_too_long")  # fmt: skip

    def __init__(self, speaker: str) -> None:
        self._speaker = speaker
        self._weight = 0
        self._messages = 0
        self._with_files: list[str] = []  # ids of questions
        self._reported = 0  # what the speaker's last call had, with its answer
        self._told = START  # when it had that
        self._moved: Mark | None = None  # when the window did
        self._failed: k.SummaryFailed | None = None  # since then
        self.was_too_long = False  # the model could not take in what it was last told

    def add(self, entry: Stamped) -> None:
        event = entry.envelope.event
        counted = _counted(event)
        if counted is not None:
            weight, messages, with_files = counted
            self._weight += weight
            self._messages += messages
            if with_files:
                self._with_files.append(with_files)
        match event:
            case k.Message(stop_reason=reason):
                self.was_too_long = reason == "model_context_window_exceeded"
                if entry.envelope.agent.id == self._speaker and (tokens := _reported(event)):
                    self._reported, self._told = tokens, self._now()
            case k.Error(code=code):
                self.was_too_long = code == "context_exceeded"
            case k.HistoryAnchored():  # what was reported before is of another window
                self._reported, self._told, self.was_too_long = 0, START, False
                self._moved, self._failed = self._now(), None
            case k.SummaryFailed():
                self._failed = event

    def size(self, files: FileTokens = NO_FILES) -> Size:
        """Of the prompt that the speaker would get."""
        return Size(self._reported + self._tokens_since(self._told, files), self._messages)

    def _now(self) -> Mark:
        return Mark(self._weight, self._messages, len(self._with_files))

    def _tokens_since(self, mark: Mark, files: FileTokens) -> int:
        with_files = self._with_files[mark.with_files :]
        return self._weight - mark.weight + (_tokens_of(with_files, files) if with_files else 0)

    def is_too_soon(self, size: Size, room: Room, files: FileTokens = NO_FILES) -> bool:
        """Whether the window has hardly grown since it moved, or since a summary of it failed.

        A prompt and tools that take up most of the room are not made smaller by moving.
        """
        if self._failed is not None:
            grown = size.tokens - self._failed.tokens >= room.most // GROWN_PART
            return not grown and size.messages - self._failed.messages < GROWN_MESSAGES
        if self._moved is None:
            return False
        grown_by = self._messages - self._moved.messages
        return self._tokens_since(self._moved, files) < room.kept and grown_by < GROWN_MESSAGES


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
    counted = [_counted(entry.event) or (0, 0, "") for entry in log]
    weights = [weight + files.get(with_files, 0) for weight, _, with_files in counted]
    whole = max(sum(weights), 1)
    most = room.kept * whole // max(size.tokens, 1)  # in the unit of the weights
    most = min(most, whole // 2) if too_long else most
    anchor, weight, messages = None, 0, 0
    for at in reversed(range(len(log))):
        entry, weight, messages = log[at], weight + weights[at], messages + counted[at][1]
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
    match parts_of("", message.reported):
        case [part] if not part.web_searches and (prompt_tokens := part.prompt_tokens):
            return prompt_tokens + part.output_tokens
    return 0


def _tokens_of(messages: Iterable[str], files: FileTokens) -> int:
    return sum(files.get(message_id, 0) for message_id in messages)


# Of an event: an estimate of its tokens without its files, how many messages it is, and the
# message's id where there are files.
_Counted = tuple[int, int, str]


def _counted(event: Event) -> _Counted | None:
    """None: the model is not told of it."""
    match event:
        case k.UserMessageSent(content=content, message_id=message_id, files=files):
            weight = len(content.encode()) // BYTES_A_TOKEN + 5
            return weight, 1, message_id if files else ""
        case k.Message(blocks=blocks):
            return len(msgspec.json.encode(blocks)) // BYTES_A_TOKEN, 1, ""
        case k.ToolResult(result=value):
            size = min(len(msgspec.json.encode(value)), MOST_OF_A_RESULT)
            return size // BYTES_A_TOKEN + 5, 0, ""
    return None
