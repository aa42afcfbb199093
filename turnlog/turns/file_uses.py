"""When a turn is over: its files are counted as used. Nobody waits for it."""

import asyncio
import logging
from collections.abc import Sequence

from turnlog.events.clock import now
from turnlog.pipeline.turn_state import TurnState
from turnlog.ports import FileTable

_log = logging.getLogger(__name__)


class FileUses:
    """Notes which files turns came with, beside the turns. What a dead process had not noted is
    not counted: the log has it.
    """

    def __init__(self, files: FileTable) -> None:
        self._files = files
        self._noting: set[asyncio.Task[None]] = set()

    def add(self, state: TurnState) -> None:
        if state.file_ids:
            task = asyncio.create_task(self._note(state.turn.user_id, state.file_ids))
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def done(self) -> None:
        if self._noting:
            await asyncio.wait(self._noting)

    async def _note(self, user_id: str, file_ids: Sequence[str]) -> None:
        try:
            await self._files.note_use(user_id, file_ids, now())
        except Exception:
            _log.exception("the use of %s files could not be noted", len(file_ids))
