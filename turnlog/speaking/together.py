"""Several agents or tools at the same time, as one sequence of batches."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from turnlog.events.chunks import is_chunk
from turnlog.ports import Ask, Batch

Batches = AsyncGenerator[Batch, None]
MOST_CHUNKS = 64  # that wait for the reader


async def together(speakers: Sequence[Batches]) -> Batches:
    """All batches, as they come. A speaker goes on only after its batch was stored.

    If one speaker fails, or the caller stops reading, all of them are stopped.
    """
    outlet = Outlet()

    async def listen(batches: Batches) -> None:
        async with aclosing(batches):
            async for batch in batches:
                await outlet.put(batch)

    async with aclosing(outlet.batches(*map(listen, speakers))) as batches:
        async for batch in batches:
            yield batch


class Outlet:
    """Where tasks put their batches, for one reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Batch, asyncio.Future[None] | None] | None]
        self._queue = asyncio.Queue()

    def in_order(self, ask: Ask) -> Ask:
        """The same question, for who puts batches here: while any of them wait, no chunk goes
        straight, because it would overtake them."""
        return replace(ask, straight=lambda batch: self._queue.empty() and ask.straight(batch))

    async def put(self, batch: Batch) -> None:
        """Returns when the batch was stored: the reader has come for the next one. Chunks are not
        stored, so some of them may wait in line."""
        if is_chunk(batch.outputs) and self._queue.qsize() < MOST_CHUNKS:
            self._queue.put_nowait((batch, None))
            return
        stored = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((batch, stored))
        await stored

    async def batches(self, *work: Coroutine[Any, Any, object]) -> Batches:
        """What these put here, as it comes. If one fails, or the caller stops reading, all of them
        are stopped."""
        tasks = [asyncio.create_task(self._done(each)) for each in work]
        running = len(tasks)
        try:
            while running:
                item = await self._queue.get()
                if item is None:
                    running -= 1
                    _raise_failure(tasks)
                else:
                    batch, stored = item
                    yield batch
                    if stored is not None and not stored.done():
                        stored.set_result(None)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _done(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        finally:
            self._queue.put_nowait(None)


def _raise_failure(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and (failure := task.exception()):
            raise failure
