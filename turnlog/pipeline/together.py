"""Several who speak at the same time, as one sequence of batches."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from turnlog.ports import Batch

Batches = AsyncGenerator[Batch, None]


async def together(speakers: Sequence[Batches]) -> Batches:
    """Their batches as they come. Each goes on only when its batch has been taken.

    One that fails ends them all, and so does the end of whoever listens.
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
