"""Several agents or tools at the same time, as one sequence of batches."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from turnlog.ports import Batch

Batches = AsyncGenerator[Batch, None]


async def together(speakers: Sequence[Batches]) -> Batches:
    """All batches, as they come. A speaker goes on only after its batch was stored.

    If one speaker fails, or the caller stops reading, all of them are stopped.
    """
    queue: asyncio.Queue[tuple[Batch, asyncio.Event] | None] = asyncio.Queue()

    async def listen(batches: Batches) -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    taken = asyncio.Event()
                    queue.put_nowait((batch, taken))
                    await taken.wait()
        finally:
            queue.put_nowait(None)

    tasks = [asyncio.create_task(listen(batches)) for batches in speakers]
    speaking = len(tasks)
    try:
        while speaking:
            item = await queue.get()
            if item is None:
                speaking -= 1
                _raise_failure(tasks)
            else:
                batch, taken = item
                yield batch
                taken.set()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _raise_failure(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and (failure := task.exception()):
            raise failure
