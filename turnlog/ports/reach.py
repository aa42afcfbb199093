"""How far back a search looks."""

from typing import Protocol


class Reach(Protocol):
    """Titles are searched in all sessions; questions and answers within the bounds of the store."""

    async def reaches_all(self, user_id: str, *, archived: bool = False) -> bool:
        """Whether a search looks into every question and answer of these sessions."""
        ...
