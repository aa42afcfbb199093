"""The engine `langgraph`: the team of a turn, run as a graph."""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from turnlog.engines.team_engine import TeamEngine
from turnlog.errors import TooManyCalls, TurnlogError
from turnlog.ports import Agent, Ask, Model
from turnlog.speaking.speakers import Batches, Speakers
from turnlog.speaking.together import Outlet

STEPS_A_CALL = 4  # of a graph: the model, its tools, their results; and one to spare


class LangGraphEngine(TeamEngine):
    """Runs teams as LangGraph graphs."""

    module = "turnlog.engines.langgraph.team"

    def __init__(self, model: Model, *, soon: bool = False) -> None:
        super().__init__(model, soon=soon)
        self._graphs: dict[tuple[Any, ...], Any] = {}

    async def answer(self, ask: Ask) -> Batches:
        team = await self.imported()
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
