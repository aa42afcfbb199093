"""A team as a LangGraph graph: a node for each agent, and inside it one agent's part.

    an agent's part:  model -> tools and workers, at the same time -> results -> model ...
    the team:         supervisor -> erp, by a transfer tool -> supervisor ...

The nodes are those of `turnlog.speaking`, so ids, signatures and usage are the provider's, and
tools, approvals and guards are the server's. There is no checkpointer: the log knows all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from turnlog.events import kinds as k
from turnlog.ports import Agent, Ask, OpenCall
from turnlog.speaking.part import Part, Task
from turnlog.speaking.saying import Saying


@dataclass(frozen=True)
class Turn(Saying):
    """What the nodes of one turn share. LangGraph's `context`."""

    steps: int  # at most, in one graph


class _Speech(TypedDict):
    """The state of an agent's graph."""

    part: Part
    open_calls: Sequence[OpenCall]
    results: Annotated[list[list[k.ToolResult]], add]  # one list for each answer, in pieces


class _Work(TypedDict):
    """What a worker is sent."""

    part: Part  # of the agent that gave the task
    task: Task
    open_calls: Sequence[OpenCall]


class _Talk(TypedDict):
    """The state of the team's graph. No agent's id begins like these names."""

    _speaker: str
    _open_calls: Sequence[OpenCall]  # of a turn that goes on; the speaker's come first


Node = Callable[..., Any]


def _agent_graph() -> Any:
    """One agent's part. Tools and workers run at the same time, in one step of the graph."""

    async def model(state: _Speech, runtime: Runtime[Turn]) -> dict[str, Any]:
        await runtime.context.all_of(runtime.context.speakers.ask_model(state["part"]))
        return {"open_calls": ()}

    async def tools(state: _Speech, runtime: Runtime[Turn]) -> dict[str, Any]:
        part, turn = state["part"], runtime.context
        return {"results": [await turn.all_of(turn.speakers.run_tools(part), part.calls)]}

    async def worker(state: _Work, runtime: Runtime[Turn]) -> dict[str, Any]:
        turn = runtime.context
        speak = partial(_speak, graph, turn)
        return {
            "results": [await turn.work(state["part"], state["task"], state["open_calls"], speak)]
        }

    async def results(state: _Speech) -> dict[str, Any]:
        part = state["part"]
        wanted = {call.tool_use_id for call in part.calls}
        given = [each for piece in state["results"] for each in piece]
        part.gets([each for each in given if each.tool_use_id in wanted])
        return {}

    def after_model(state: _Speech) -> Any:
        part = state["part"]
        return END if part.is_over else _fan_out(state) if part.calls else "model"

    builder = StateGraph(_Speech, context_schema=Turn)
    for node in (model, tools, worker, results):
        builder.add_node(node.__name__, node)
    builder.add_conditional_edges(START, lambda s: _fan_out(s) if s["part"].calls else "model")
    builder.add_conditional_edges("model", after_model)
    builder.add_edge("tools", "results")
    builder.add_edge("worker", "results")
    builder.add_conditional_edges("results", lambda s: END if s["part"].waits else "model")
    graph = builder.compile()
    return graph


def _fan_out(state: _Speech) -> list[Send]:
    """The answer's tools, and a worker for each of its tasks."""
    part, open_calls = state["part"], state["open_calls"]
    sent = [Send("tools", state)] if part.tool_calls else []
    work = [_Work(part=part, task=task, open_calls=open_calls) for task in part.tasks]
    return [*sent, *(Send("worker", each) for each in work)]


async def _speak(graph: Any, turn: Turn, part: Part, open_calls: Sequence[OpenCall]) -> None:
    await turn.begin(part, open_calls)
    state = _Speech(part=part, open_calls=open_calls, results=[])
    await graph.ainvoke(state, {"recursion_limit": turn.steps}, context=turn)


def team_graph(agents: Mapping[str, Agent]) -> Any:
    """The team: a node for each agent, an edge wherever one may hand over to another."""
    speech = _agent_graph()
    builder = StateGraph(_Talk, context_schema=Turn)
    for agent in agents.values():
        after: tuple[str, ...] = (*agent.hands_over_to, END)
        builder.add_node(agent.id, _speaker(speech, agent.id), destinations=after)
    builder.add_conditional_edges(START, lambda talk: talk["_speaker"], list(agents))
    return builder.compile()


def _speaker(speech: Any, agent_id: str) -> Node:
    async def node(talk: _Talk, runtime: Runtime[Turn]) -> Command[str]:
        turn = runtime.context
        part = await turn.speakers.seat(agent_id)
        await _speak(speech, turn, part, talk["_open_calls"])
        return Command(goto=part.successor or END, update={"_open_calls": ()})

    return node


async def run(graph: Any, ask: Ask, turn: Turn) -> None:
    """The whole turn, from the speaker on."""
    talk = _Talk(_speaker=ask.speaker, _open_calls=ask.open_calls)
    await graph.ainvoke(talk, {"recursion_limit": turn.steps}, context=turn)
