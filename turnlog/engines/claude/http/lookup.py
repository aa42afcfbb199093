"""The places that a name stands for. Whoever asks while a look goes on shares what it finds, which
holds for a moment after it: five hundred who connect at once ask once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

HOLDS = 10.0  # seconds
Places = list[tuple[Any, ...]]  # as getaddrinfo gives them


class Lookup:
    """Of one name."""

    def __init__(self, resolve: Callable[[], Awaitable[Places]]) -> None:
        self._resolve = resolve
        self._looking: asyncio.Task[Places] | None = None
        self._found: Places = []
        self._until = 0.0

    async def places(self) -> Places:
        """Raises OSError where there are none."""
        if self._found and asyncio.get_running_loop().time() < self._until:
            return self._found
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._ended)
        return await asyncio.shield(self._looking)  # who stops waiting does not stop the others

    def forget(self) -> None:
        """What was found leads nowhere."""
        self._found = []

    async def _look(self) -> Places:
        self._found = await self._resolve()
        self._until = asyncio.get_running_loop().time() + HOLDS
        return self._found

    def _ended(self, looking: asyncio.Task[Places]) -> None:
        self._looking = None
        if not looking.cancelled():
            looking.exception()  # it was told to whoever waited
