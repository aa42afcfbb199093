"""Chunks that wait are joined: adjacent ones of one block become one, without loss."""

from collections.abc import Sequence
from typing import TypeGuard

from msgspec import UNSET
from msgspec.structs import replace

from turnlog.events.base import Event
from turnlog.events.kinds import MessageChunk, ThinkingChunk

Chunk = MessageChunk | ThinkingChunk
CHUNKS: frozenset[type] = frozenset((MessageChunk, ThinkingChunk))


def is_chunk(outputs: Sequence[object]) -> TypeGuard[Sequence[Chunk]]:
    """Whether this is one chunk and nothing else, as nearly everything is that a model sends."""
    return len(outputs) == 1 and type(outputs[0]) in CHUNKS


def are_chunks(outputs: Sequence[object]) -> TypeGuard[Sequence[Chunk]]:
    """Whether all of these are chunks; also where there are none."""
    return CHUNKS.issuperset(map(type, outputs))


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
