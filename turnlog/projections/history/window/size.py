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
from turnlog.events.base import Stamped
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


def size_of(log: Sequence[Stamped], speaker: str, files: FileTokens = NO_FILES) -> Size:
    """Of the prompt that the speaker would get."""
    messages = sum(isinstance(e.event, k.UserMessageSent | k.Message) for e in log)
    reported, newer = _last_report(log, speaker)
    return Size(reported + sum(_weights(newer, files)), messages)


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
    if not too_long and size.tokens <= room.most and size.messages <= MOST_MESSAGES:
        return None
    weights = list(_weights(log, files))
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


def is_too_soon(log: Sequence[Stamped], size: Size, room: Room, files: FileTokens) -> bool:
    """Whether the window has hardly grown since it moved, or since a summary of it failed.

    A prompt and tools that take up most of the room are not made smaller by moving.
    """
    for at in reversed(range(len(log))):
        match log[at].event:
            case k.HistoryAnchored():
                newer = log[at + 1 :]
                tokens = sum(_weights(newer, files))
                return tokens < room.kept and sum(map(_is_message, newer)) < GROWN_MESSAGES
            case k.SummaryFailed(tokens=tokens, messages=messages):
                grown = size.tokens - tokens >= room.most // GROWN_PART
                return not grown and size.messages - messages < GROWN_MESSAGES
    return False


def _last_report(log: Sequence[Stamped], speaker: str) -> tuple[int, Sequence[Stamped]]:
    """What the speaker's last call had, with its answer, and what came after it.

    A report from before the window moved is of another window. One with searches or compactions
    counts what was read inside of the call several times, so it says nothing about the prompt.
    """
    for at in reversed(range(len(log))):
        event = log[at].event
        if isinstance(event, k.HistoryAnchored):
            break
        if isinstance(event, k.Message) and log[at].envelope.agent.id == speaker:
            parts = parts_of(event.model, event.reported)
            if len(parts) == 1 and parts[0].prompt_tokens and not parts[0].web_searches:
                return parts[0].total_tokens, log[at + 1 :]
    return 0, log


def was_too_long(log: Sequence[Stamped]) -> bool:
    """Whether the model could not take in what it was last told."""
    for entry in reversed(log):
        match entry.event:
            case k.Error(code=code):
                return code == "context_exceeded"
            case k.Message(stop_reason=reason):
                return reason == "model_context_window_exceeded"
            case k.HistoryAnchored():
                return False
    return False


def _weights(log: Iterable[Stamped], files: FileTokens) -> Iterable[int]:
    """An estimate of the tokens of each event."""
    for entry in log:
        match entry.event:
            case k.UserMessageSent(content=content, message_id=message_id):
                yield len(content.encode()) // BYTES_A_TOKEN + files.get(message_id, 0) + 5
            case k.Message(blocks=blocks):
                yield len(msgspec.json.encode(blocks)) // BYTES_A_TOKEN
            case k.ToolResult(result=value):
                size = min(len(msgspec.json.encode(value)), MOST_OF_A_RESULT)
                yield size // BYTES_A_TOKEN + 5
            case _:
                yield 0


def _is_message(entry: Stamped) -> bool:
    return isinstance(entry.event, k.UserMessageSent | k.Message)
