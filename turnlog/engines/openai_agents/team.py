"""A team as agents of the SDK. The Runner decides what comes next: a model, tools, a hand-off.

The agents' model is ours, so ids, thoughts, signatures and usage are the provider's; their tools
run in the server's tool box. A call that a person must decide interrupts the run, and the turn
waits. When it goes on, a new run begins with the calls that were open: the log knows the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import agents as sdk
from agents.exceptions import AgentsException, MaxTurnsExceeded
from agents.models.interface import Model as SdkModel

from turnlog.engines.openai_agents import guardrails, items
from turnlog.errors import TooManyCalls
from turnlog.ports import Ask, OpenCall, ToolSpec, handover_tool
from turnlog.speaking.part import Part
from turnlog.speaking.saying import Saying

OTHER = "other_call"  # for calls that are no tool of the agent: unknown ones, and tasks


class Turn:
    """One turn, and the agents in it."""

    def __init__(
        self,
        ask: Ask,
        saying: Saying,
        input_guardrails: Sequence[Any] = (),
        output_guardrails: Sequence[Any] = (),
    ) -> None:
        self.ask = ask
        self.saying = saying
        self._guardrails: dict[str, Any] = {
            "input_guardrails": [guardrails.closed(each) for each in input_guardrails],
            "output_guardrails": [guardrails.closed(each) for each in output_guardrails],
        }
        self._team = {name: SpokenAgent.of(self, name) for name in ask.team.agents}
        for name, agent in self._team.items():
            to = [self._team[other] for other in ask.team.agents[name].hands_over_to]
            agent.handoffs = [_handoff(other) for other in to]

    async def run(self) -> None:
        speaker = self._team[self.ask.speaker]
        speaker.speech.open_calls = self.ask.open_calls
        await self.run_agent(speaker, guarded=True)

    async def run_agent(self, agent: "SpokenAgent", *, guarded: bool = False) -> None:
        """Until it has answered, handed over to one who has, or a person must decide."""
        await agent.speech.ready()
        config = sdk.RunConfig(tracing_disabled=True, **(self._guardrails if guarded else {}))
        running = sdk.Runner.run_streamed(
            agent,
            items.last_question(agent.speech.part.messages),
            max_turns=4 * self.ask.max_calls,
            run_config=config,
        )
        try:
            async for _ in running.stream_events():
                pass  # everything was said when it happened
        except MaxTurnsExceeded:
            raise TooManyCalls from None
        except AgentsException as error:
            raise guardrails.explained(error) from None
        finally:
            running.cancel()
            if running.run_loop_task is not None:
                with suppress(BaseException):
                    await running.run_loop_task

    async def speak(self, part: Part, open_calls: Sequence[OpenCall]) -> None:
        """One who works on a task, until it has answered."""
        agent = SpokenAgent.of(self, part.seat.agent.id)
        await agent.speech.begin(part, open_calls)
        await self.run_agent(agent)


@dataclass
class Speech:
    """One agent's part of the turn, between the SDK's calls."""

    turn: Turn
    agent_id: str
    open_calls: Sequence[OpenCall] = ()
    results: dict[str, str] = field(default_factory=dict)  # by call
    _part: Part | None = None
    _running: "asyncio.Task[None] | None" = None

    @property
    def part(self) -> Part:
        assert self._part is not None
        return self._part

    def again(self) -> None:
        """Another agent hands over to this one: it hears what has been said meanwhile."""
        self._part = None

    async def ready(self) -> None:
        if self._part is None:
            part = await self.turn.saying.speakers.seat(self.agent_id)
            await self.begin(part, self.open_calls)

    async def begin(self, part: Part, open_calls: Sequence[OpenCall]) -> None:
        self._part, self.open_calls = part, open_calls
        await self.turn.saying.begin(part, open_calls)

    async def answer(self) -> list[Any]:
        """What the agent says next, as items of the SDK."""
        if self.part.answer is None and self.part.calls and not self.results:
            return self._calls()  # of a turn that goes on
        while True:
            saying = self.turn.saying
            await saying.all_of(saying.speakers.ask_model(self.part))
            self.open_calls = ()
            if self.part.is_over or self.part.calls:
                break
        said = self.part.answer
        if self.part.successor is not None:
            return [items.call(f"to_{self.part.successor}", handover_tool(self.part.successor))]
        if said is not None and not self.part.is_over:
            return [*items.thoughts(said.outputs), *self._calls()]
        return items.message(said.message if said else None)

    def _calls(self) -> list[Any]:
        known = {spec.name for spec in self.part.seat.tools.specs} - self.part.handovers.keys()
        self._running = None
        return [
            items.call(c.tool_use_id, c.tool_name if c.tool_name in known else OTHER, c.args)
            for c in self.part.calls
        ]

    async def needs_person(self, context: Any, args: Any, call_id: str) -> bool:
        """The server's tool box has run what may run. What is left waits for a person."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._run())
        await self._running
        return call_id not in self.results

    async def _run(self) -> None:
        part, saying = self.part, self.turn.saying
        speak = self.turn.speak
        work = [saying.work(part, task, self.open_calls, speak) for task in part.tasks]
        if part.tool_calls:
            work.append(saying.all_of(saying.speakers.run_tools(part), part.calls))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_unwrapped(each)) for each in work]
        results = [each for task in tasks for each in task.result()]
        self.results |= {each.tool_use_id: items.result(each) for each in results}
        part.gets(results)

    async def invoke(self, context: Any, args: str) -> str:
        return self.results[context.tool_call_id]

    def tool(self, spec: ToolSpec) -> Any:
        return sdk.FunctionTool(
            name=spec.name,
            description=spec.description,
            params_json_schema=spec.input_schema,
            on_invoke_tool=self.invoke,
            strict_json_schema=False,
            needs_approval=self.needs_person,
        )


async def _unwrapped(work: Awaitable[list[Any]]) -> list[Any]:
    return await work


class SpokenAgent(sdk.Agent[Any]):
    """An agent of the SDK that is one of ours."""

    speech: Speech

    @classmethod
    def of(cls, turn: Turn, agent_id: str) -> "SpokenAgent":
        made = cls(name=agent_id, handoffs=[])
        made.speech = Speech(turn, agent_id)
        made.model = SpokenModel(made.speech)
        return made

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        await self.speech.ready()
        handovers = self.speech.part.handovers
        specs = [s for s in self.speech.part.seat.tools.specs if s.name not in handovers]
        other = ToolSpec(name=OTHER, description="", input_schema={"type": "object"})
        return [self.speech.tool(spec) for spec in (*specs, other)]


class SpokenModel(SdkModel):
    """The SDK's model is our agent's next answer. What it is told, the log knows."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        output = await self._speech.answer()
        return sdk.ModelResponse(output=output, usage=sdk.Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        yield items.completed(await self._speech.answer())


def _handoff(agent: SpokenAgent) -> Any:
    def took_over(context: Any) -> None:
        agent.speech.again()

    name = handover_tool(agent.speech.agent_id)
    return sdk.handoff(agent, tool_name_override=name, on_handoff=took_over)
