"""Joins chunks that come within a window into one. The first chunk goes out at once.

Every event costs the server and the client, and nobody reads faster than twenty times a second.
A model that is read at this pace already is never held up: its pieces come a window apart.
"""

import asyncio
from collections.abc import Callable, Sequence

from turnlog.events.chunks import CHUNKS, as_one, is_chunk
from turnlog.ports import Batch, Output

TOO_SOON = 0.8  # of a window: what comes later than that is shown at once


class Pacer:
    """Shows a chunk, then holds the next ones back for `window` seconds."""

    def __init__(self, emit: Callable[[Batch], None], window: float) -> None:
        self._emit = emit
        self._window = window
        self._shown = float("-inf")  # when the last chunk was
        self._held: list[Batch] = []
        self._timer: asyncio.TimerHandle | None = None

    def takes(self, batch: Batch) -> bool:
        """Whether the batch has only chunks. Before any other batch, call `flush`."""
        outputs = batch.outputs
        return is_chunk(outputs) or all(isinstance(output, CHUNKS) for output in outputs)

    def add(self, batch: Batch) -> None:
        self._held.append(batch)
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        since = loop.time() - self._shown
        if since >= self._window * TOO_SOON:
            self._show()
        else:
            self._timer = loop.call_later(self._window - since, self._show)

    def flush(self) -> None:
        """Show the held chunks now, one batch for each call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        if len(held) == 1:
            self._emit(held[0])
            return
        calls: dict[str, list[Batch]] = {}
        for batch in held:
            calls.setdefault(batch.call, []).append(batch)
        for call, batches in calls.items():
            self._emit(Batch(_joined(batches), batches[0].agent, call))

    def close(self) -> None:
        self.flush()

    def _show(self) -> None:
        self._shown = asyncio.get_running_loop().time()
        self.flush()


def _joined(held: Sequence[Batch]) -> list[Output]:
    """Adjacent chunks of one block as one."""
    joined: list[Output] = []
    for output in (output for batch in held for output in batch.outputs):
        one = as_one(joined[-1], output) if joined else None
        if one is not None:
            joined[-1] = one
        else:
            joined.append(output)
    return joined
