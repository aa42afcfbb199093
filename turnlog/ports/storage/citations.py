"""What answers rest on, as the events wrote it."""

from typing import Any, Protocol


class Citations(Protocol):
    """The citations of answers. Every question names the user who asks."""

    async def citations_of_message(self, user_id: str, message_id: str) -> list[dict[str, Any]]:
        """Rows of `message_citations`, in order. Raises NotFound, also for someone else's."""
        ...

    async def citations_of_session(
        self, user_id: str, session_id: str, *, limit: int, after: int = -1
    ) -> list[dict[str, Any]]:
        """Those of the session's answers numbered above `after`. Raises NotFound."""
        ...
