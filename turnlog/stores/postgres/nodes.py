"""Which processes live: each says so every second or two, by the clock of the database."""

import asyncio
import logging
import uuid
from contextlib import suppress

from turnlog.stores.postgres.pool import AWAY, Pool
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.sql.connection import Connection

_log = logging.getLogger(__name__)
EVERY = 1.5  # seconds between two signs of life
DEAD_AFTER = 6.0  # seconds without one


class Nodes:
    """The processes that have opened one database, this one among them."""

    def __init__(self) -> None:
        self.me = uuid.uuid4().hex
        self._task: asyncio.Task[None] | None = None

    async def enter(self, pool: Pool, address: str) -> None:
        """From now on this process counts as living."""
        await pool.fetch("forget_nodes", {})
        await pool.fetch("enter_node", {"id": self.me, "address": address})
        self._task = asyncio.create_task(self._go_on(pool, address), name="heartbeat")

    async def leave(self, pool: Pool) -> None:
        await self.fall_silent()
        with suppress(*AWAY):
            await pool.fetch("leave_node", {"id": self.me})

    async def fall_silent(self) -> None:
        """Give no more signs of life, as a process that hangs."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def living(self, db: Connection) -> set[str]:
        rows = db.execute(SQL["list_living_nodes"], {"seconds": DEAD_AFTER})
        return {row[0] for row in rows}

    async def _go_on(self, pool: Pool, address: str) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                await pool.fetch("see_node", {"id": self.me, "address": address})
            except Exception as error:
                _log.warning("no sign of life could be given: %s", type(error).__name__)
