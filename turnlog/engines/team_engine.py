"""What engines have in common that run a team by somebody else's package."""

import asyncio
from importlib import import_module
from typing import Any, ClassVar

from turnlog.ports import Model


class TeamEngine:
    """This model answers for every agent. The package is imported late: it takes seconds."""

    module: ClassVar[str]  # of ours, that needs the package

    def __init__(self, model: Model, *, soon: bool = False) -> None:
        """`soon`: import the package when the server starts."""
        self.model = model
        self._soon = soon
        self._importing: asyncio.Task[Any] | None = None

    async def open(self) -> None:
        await self.model.open()
        if self._soon:
            self._importing = asyncio.create_task(self.imported())

    async def close(self) -> None:
        if self._importing is not None:
            await asyncio.wait([self._importing])
        await self.model.close()

    async def imported(self) -> Any:
        return await asyncio.to_thread(import_module, self.module)
