"""What users may still write, counted over all nodes in a table, by the clock of the database."""

from turnlog.errors import NotStored
from turnlog.stores.postgres.pool import AWAY, FULL, Pool, is_away

_FORGETS_EVERY = 1000  # times that it is asked: those who were quiet for long


class PostgresWrites:
    """Asked once for several writes, in one statement. It waits for no database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asked = 0

    async def take_writes(self, user_id: str, *, wanted: int, most: int) -> int:
        values = {"user_id": user_id, "wanted": min(wanted, most), "most": most}
        try:
            if self._asked % _FORGETS_EVERY == 0:
                await self._pool.fetch("forget_writes", {})
            self._asked += 1
            rows = await self._pool.fetch("take_writes", values)
        except (*AWAY, *FULL) as error:
            if not (is_away(error) or isinstance(error, FULL)):
                raise
            raise NotStored("What users have written cannot be counted at the moment.") from error
        return int(rows[0][0])
