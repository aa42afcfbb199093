"""How often a user may write, where several nodes count together."""

from typing import Protocol


class SharedWrites(Protocol):
    """What is left to each user, for all nodes: a bucket that fills up again within a minute."""

    async def take_writes(self, user_id: str, *, wanted: int, most: int) -> int:
        """So many of the `wanted` as there are left of `most`. Whoever takes some may use them
        later. Raises NotStored where nobody can tell.
        """
        ...
