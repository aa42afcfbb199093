"""The engine `langgraph`: the team of a turn, run as a graph."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from turnlog.errors import TooManyCalls, TurnlogError
from turnlog.ports import Agent, Ask, Model
from turnlog.speaking.speakers import Batches, Speakers
from turnlog.speaking.together import Outlet

STEPS_A_CALL = 4  # of a graph: the model, its tools, their results; and one to spare


class LangGraphEngine:
    """Runs teams as LangGraph graphs; this model answers for every agent."""

    def __init__(self, model: Model, *, soon: bool = False) -> None:
        """`soon`: import LangGraph when the server starts, which takes a second."""
        self.model = model
        self._soon = soon
        self._graphs: dict[tuple[Any, ...], Any] = {}
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
        steps = STEPS_A_CALL * ask.max_calls + STEPS_A_CALL
        turn = team.Turn(Speakers(outlet.in_order(ask), self.model), outlet.put, steps)
        work = _as_ours(team.run(self._graph(team, ask.team.agents), ask, turn))
        async with aclosing(outlet.batches(work)) as batches:
            async for batch in batches:
                yield batch

    def _graph(self, team: Any, agents: Mapping[str, Agent]) -> Any:
        """The graph of these agents, made once."""
        key = tuple((agent.id, *agent.hands_over_to) for agent in agents.values())
        if key not in self._graphs:
            self._graphs[key] = team.team_graph(agents)
        return self._graphs[key]


def _imported() -> Any:
    from turnlog.engines.langgraph import team

    return team


async def _as_ours(work: Any) -> None:
    """What LangGraph adds to a failure, such as the ids of its runs, stays here."""
    from langgraph.errors import GraphRecursionError

    try:
        await work
    except GraphRecursionError:
        raise TooManyCalls from None
    except TurnlogError as failure:
        vars(failure).pop("__notes__", None)
        raise
