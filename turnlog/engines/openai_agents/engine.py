"""The engine `openai_agents`: the team of a turn, run by the SDK's Runner."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from turnlog.engines.team_engine import TeamEngine
from turnlog.ports import Ask, Model
from turnlog.speaking.saying import Saying
from turnlog.speaking.speakers import Batches, Speakers
from turnlog.speaking.together import Outlet


class OpenAIAgentsEngine(TeamEngine):
    """Runs teams as agents of the SDK."""

    module = "turnlog.engines.openai_agents.team"

    def __init__(
        self,
        model: Model,
        *,
        input_guardrails: Sequence[Any] = (),
        output_guardrails: Sequence[Any] = (),
        soon: bool = False,
    ) -> None:
        """Guardrails are the SDK's."""
        super().__init__(model, soon=soon)
        self._guardrails = (list(input_guardrails), list(output_guardrails))

    async def answer(self, ask: Ask) -> Batches:
        team = await self.imported()
        outlet = Outlet()
        saying = Saying(Speakers(outlet.in_order(ask), self.model), outlet.put)
        turn = team.Turn(ask, saying, *self._guardrails)
        async with aclosing(outlet.batches(turn.run())) as batches:
            async for batch in batches:
                yield batch
