"""The engine `openai_agents`: the team of a turn, run by the SDK's Runner."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from turnlog.ports import Ask, Model
from turnlog.speaking.speakers import Batches, Speakers
from turnlog.speaking.together import Outlet


class OpenAIAgentsEngine:
    """Runs teams as agents of the SDK; this model answers for every one of them."""

    def __init__(
        self,
        model: Model,
        *,
        input_guardrails: Sequence[Any] = (),
        output_guardrails: Sequence[Any] = (),
        soon: bool = False,
    ) -> None:
        """Guardrails are the SDK's. `soon`: import it when the server starts, which takes
        seconds."""
        self.model = model
        self._guardrails = (list(input_guardrails), list(output_guardrails))
        self._soon = soon
        self._importing: asyncio.Task[Any] | None = None

    async def open(self) -> None:
        await self.model.open()
        if self._soon:
            self._importing = asyncio.create_task(asyncio.to_thread(_imported))

    async def close(self) -> None:
        if self._importing is not None:
            await asyncio.wait([self._importing])
        await self.model.close()

    async def answer(self, ask: Ask) -> Batches:
        team = await asyncio.to_thread(_imported)
        outlet = Outlet()
        speakers = Speakers(outlet.in_order(ask), self.model)
        turn = team.Turn(ask, speakers, outlet.put, *self._guardrails)
        async with aclosing(outlet.batches(turn.run())) as batches:
            async for batch in batches:
                yield batch


def _imported() -> Any:
    from turnlog.engines.openai_agents import team

    return team
