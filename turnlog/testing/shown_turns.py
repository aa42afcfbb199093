"""Turns as a bus shows them: for its contract, and for tests of those who follow."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from turnlog.events import kinds as k
from turnlog.events.base import Event, Stamped
from turnlog.ports import Batches, Bus, OnSignal, Signal
from turnlog.testing import samples as s

Connected = Callable[[OnSignal], Awaitable[Bus]]
SMALL = 50_000


def deaf(session_id: str, signal: Signal) -> None:
    """For a process that does not care about signals."""


def turn(*events: Event, after: int = -1, turn_id: str = "t") -> list[Stamped]:
    """A question and these events as a client is shown them; the log had come to `after`."""
    shown: list[Stamped] = []
    for placed in s.placed(s.asked(), *events):
        after += placed.kept
        seq = after if placed.kept else None
        shown.append(
            Stamped(session_id="s", turn_id=turn_id, envelope=placed, seq=seq, position=after)
        )
    return shown


def chunk(content: str, block: int = 0) -> k.MessageChunk:
    return k.MessageChunk(message_id="m", content=content, block_index=block)


def thought(content: str, block: int = 0) -> k.ThinkingChunk:
    return k.ThinkingChunk(message_id="m", content=content, block_index=block)


async def until(following: Batches, last: Stamped) -> list[Stamped]:
    """What a follower gets, up to that event."""
    seen: list[Stamped] = []
    async with asyncio.timeout(60):  # or a broken bus would hang the suite
        while not seen or seen[-1].envelope.event_id != last.envelope.event_id:
            batch = await anext(following)
            assert batch is not None, "the follower was told to reload"
            seen += [live.entry for live in batch]
    return seen


async def waits(following: Batches) -> None:
    """The follower has read what is there, and waits for more."""
    async with asyncio.timeout(60):
        assert await anext(following) == []


async def refused(following: Batches) -> bool:
    """Whether the follower is told that it must reload, and nothing else."""
    async with asyncio.timeout(60), aclosing(following):
        return [batch async for batch in following if batch != []] == [None]


WHOLE = (chunk("Let me see."), s.used("a"), s.result("a"), chunk("Yes."), s.said("Yes."))


class Heard:
    """The signals that one process gets."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, Signal]] = asyncio.Queue()

    def __call__(self, session_id: str, signal: Signal) -> None:
        self._queue.put_nowait((session_id, signal))

    async def next(self) -> tuple[str, Signal]:
        async with asyncio.timeout(60):
            return await self._queue.get()
