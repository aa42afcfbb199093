"""A team as a LangGraph graph: a node for each agent, and inside it one agent's part.

    an agent's part:  model -> tools and workers, at the same time -> results -> model ...
    the team:         supervisor -> erp, by a transfer tool -> supervisor ...

The nodes are those of `turnlog.speaking`, so ids, signatures and usage are the provider's, and
tools, approvals and guards are the server's. There is no checkpointer: the log knows all.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.ports import Agent, Ask, Batch, CallFailed, OpenCall
from turnlog.speaking.answer import results_of
from turnlog.speaking.part import Part, Task
from turnlog.speaking.speakers import Batches, Speakers, closed, refused


@dataclass(frozen=True)
class Turn:
    """What the nodes of one turn share. LangGraph's `context`."""

    speakers: Speakers
    say: Callable[[Batch], Awaitable[None]]  # returns when the batch is stored
    steps: int  # at most, in one graph

    async def all_of(self, batches: Batches, calls: Sequence[k.ToolUse] = ()) -> list[k.ToolResult]:
        """Say them all. Returns the results that belong to these calls."""
        results: list[k.ToolResult] = []
        async with aclosing(batches):
            async for batch in batches:
                await self.say(batch)
                if calls:
                    results += results_of(batch, calls)
        return results


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
        return {"results": [await _work(graph, state, runtime.context)]}

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


async def _speak(graph: Any, part: Part, turn: Turn, open_calls: Sequence[OpenCall]) -> None:
    if part.seat.records:
        await turn.say(part.batch(part.seat.records))
    part.goes_on_with(open_calls)
    state = _Speech(part=part, open_calls=open_calls, results=[])
    await graph.ainvoke(state, {"recursion_limit": turn.steps}, context=turn)


async def _work(graph: Any, work: _Work, turn: Turn) -> list[k.ToolResult]:
    """Another agent works on a task; its answer is the result of the call."""
    part, task = work["part"], work["task"]
    if task.refusal:
        return await _close(turn, part, refused(task, task.refusal))
    message = turn.speakers.answered_before(task, work["open_calls"])
    if message is None:
        worker = await turn.speakers.seat(task.agent_id, delegated=True)
        try:
            await _speak(graph, worker, turn, work["open_calls"])
        except EngineFailed as failure:
            await turn.say(worker.batch([CallFailed()]))
            return await _close(turn, part, refused(task, str(failure)))
        if worker.waits or worker.answer is None:
            return []
        message = worker.answer.message
    return await _close(turn, part, closed(task, message))


async def _close(turn: Turn, part: Part, hidden: Any) -> list[k.ToolResult]:
    batch = part.batch([hidden])
    await turn.say(batch)
    return results_of(batch, part.calls)


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
        await _speak(speech, part, turn, talk["_open_calls"])
        return Command(goto=part.successor or END, update={"_open_calls": ()})

    return node


async def run(graph: Any, ask: Ask, turn: Turn) -> None:
    """The whole turn, from the speaker on."""
    talk = _Talk(_speaker=ask.speaker, _open_calls=ask.open_calls)
    await graph.ainvoke(talk, {"recursion_limit": turn.steps}, context=turn)
