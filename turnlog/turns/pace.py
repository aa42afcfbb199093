"""Joins chunks that come within 25 ms into one. The first chunk goes out at once.

Nobody reads faster than forty times a second, and every event costs the server and the client.
"""

import asyncio
from collections.abc import Callable, Sequence

from turnlog.events.chunks import CHUNKS, as_one, is_chunk
from turnlog.ports import Batch, Output

WINDOW = 0.025  # seconds


class Pacer:
    """Shows a chunk, then holds the next ones back for WINDOW seconds."""

    def __init__(self, emit: Callable[[Batch], None]) -> None:
        self._emit = emit
        self._held: list[Batch] = []
        self._window: asyncio.TimerHandle | None = None

    def takes(self, batch: Batch) -> bool:
        """Whether the batch has only chunks. Before any other batch, call `flush`."""
        outputs = batch.outputs
        return is_chunk(outputs) or all(isinstance(output, CHUNKS) for output in outputs)

    def add(self, batch: Batch) -> None:
        self._held.append(batch)
        if self._window is None:
            self._open()

    def flush(self) -> None:
        """Show the held chunks now, one batch for each call."""
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
        if self._window is not None:
            self._window.cancel()
            self._window = None
        self.flush()

    def _open(self) -> None:
        self.flush()
        self._window = asyncio.get_running_loop().call_later(WINDOW, self._shut)

    def _shut(self) -> None:
        self._window = None
        if self._held:
            self._open()


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
