"""Citations in dictionaries."""

from typing import Any

from turnlog.errors import NotFound
from turnlog.projections import tables


class MemoryCitations:
    """The citations of a store in memory."""

    _rows: tables.Rows

    async def citations_of_message(self, user_id: str, message_id: str) -> list[dict[str, Any]]:
        message = self._rows["messages"].get((message_id,), {})
        if message.get("user_id") != user_id or message["is_internal"]:
            raise NotFound(f"There is no message {message_id!r}.")
        rows = self._rows["message_citations"].values()
        mine = [row for row in rows if row["message_id"] == message_id]
        return sorted(mine, key=lambda row: int(row["position"]))

    async def citations_of_session(
        self, user_id: str, session_id: str, *, limit: int, after: int = -1
    ) -> list[dict[str, Any]]:
        await self.get_session(user_id, session_id)
        messages = self._rows["messages"]
        rows = [
            row
            for row in self._rows["message_citations"].values()
            if row["session_id"] == session_id
            and row["seq"] > after
            and not messages[(row["message_id"],)]["is_internal"]
        ]
        return sorted(rows, key=lambda row: (row["seq"], row["position"]))[:limit]

    async def get_session(self, user_id: str, session_id: str) -> Any:
        raise NotImplementedError
