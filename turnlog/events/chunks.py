"""Chunks that wait are joined: adjacent ones of one block become one, without loss."""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from turnlog.events.base import Event, Stamped
from turnlog.events.kinds import MessageChunk, ThinkingChunk

CHUNKS = (MessageChunk, ThinkingChunk)


def as_one(last: object, event: object) -> Event | None:
    """Both pieces as one, when `event` is the next piece of what `last` is a piece of."""
    match last, event:
        case MessageChunk(), MessageChunk(citations=cited) if cited is UNSET:
            pass
        case ThinkingChunk(), ThinkingChunk():
            pass
        case _:
            return None
    if (last.message_id, last.block_index) != (event.message_id, event.block_index):
        return None
    return replace(last, content=last.content + event.content)


def joined(batch: Sequence[Stamped]) -> list[Stamped]:
    """The batch with waiting chunks joined. A joined one stands where its last piece stood."""
    result: list[Stamped] = []
    for at in batch:
        last = result[-1] if result and result[-1].turn_id == at.turn_id else None
        one = as_one(last.event, at.event) if last else None
        if one is not None:
            result[-1] = replace(at, placed=replace(at.placed, event=one))
        else:
            result.append(at)
    return result
