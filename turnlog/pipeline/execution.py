"""Stage 2. The loop: ask the model, keep what it said, run the tools, ask again.

In:  an Ask: who speaks, the team, and the calls of a turn that goes on.
Out: batches of what agents say and tools do. Each batch is stored before the next one is made,
     so no tool runs before its `tool_use` is kept. The loop ends when the speaker has answered,
     or when a person must decide. An engine that owns its loop is asked once.

An agent hands over by calling a tool that the server made. If that is its only call, its part
ends, and the other agent answers the user. If there are other calls beside it, the call is a
task: the agents with a task work at the same time, and their answers are the results.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import msgspec

from turnlog.errors import EngineFailed, TooManyCalls
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.chunks import is_chunk
from turnlog.events.grammar import GOES_ON
from turnlog.events.usage import searches_of
from turnlog.pipeline.answer import Answer, failed, read_answer, result, results_of
from turnlog.pipeline.together import together
from turnlog.ports import (
    Ask,
    Batch,
    CallFailed,
    CallGuard,
    CallOutput,
    CallStarted,
    Engine,
    Hidden,
    Model,
    OpenCall,
    Output,
    Prompt,
    Seat,
    SpeakerChanged,
    UnreadableCall,
    handover_tool,
)
from turnlog.projections.history.messages import (
    add,
    answer_blocks,
    container_of,
    mended,
    repair_record,
    result_block,
)

Batches = AsyncGenerator[Batch, None]
ClaimId = Callable[[str], Awaitable[str]]
TOO_LONG = "context_exceeded"  # the code of a failure: the prompt is too long for the model
REFUSED = "invalid_request"  # the code of a failure: the model rejects something in the prompt
NOT_HERE = "You work on a part of the task. Finish it; you cannot hand over."
CUT_OFF = "The answer of this agent was cut off: {text}"
AT_WORK = "This agent works on another part already. Ask it again when that is done."


async def execute(
    ask: Ask, answerer: Model | Engine, guard: CallGuard, claim_id: ClaimId
) -> Batches:
    """The batches of the turn. `claim_id` gives a message an id that no other message has."""
    if isinstance(answerer, Engine):
        batches = answerer.answer(ask)
    else:
        batches = _Loop(ask, answerer, guard).run()
    async with aclosing(batches):
        async for batch in batches:
            if not is_chunk(batch.outputs) and _begins_call(batch):
                batch = msgspec.structs.replace(
                    batch, outputs=await _named(batch.outputs, claim_id)
                )
            yield batch


def _begins_call(batch: Batch) -> bool:
    return any(isinstance(output, CallStarted) for output in batch.outputs)


async def _named(outputs: Sequence[Output], claim_id: ClaimId) -> list[Output]:
    """A provider may repeat an id or give none. So each call gets a unique id when it starts."""
    named: list[Output] = []
    for output in outputs:
        if isinstance(output, CallStarted):
            output = msgspec.structs.replace(output, message_id=await claim_id(output.message_id))
        named.append(output)
    return named


@dataclass
class _Part:
    """One agent's part of the turn: what it has been told so far, and how it ended."""

    seat: Seat
    delegated: bool  # it works on a task that another agent gave it
    messages: list[dict[str, Any]]
    searches: int | None
    container: str | None
    known_only: bool  # whether blocks of unknown types are left out
    call: str = ""  # names the model call that is under way
    shown: bool = False  # whether anything of that call was shown
    grown: bool = False  # whether `messages` has more than was built from the log
    answer: Answer | None = None  # its newest one
    calls: list[k.ToolUse] = field(default_factory=list)  # to be run next
    successor: str | None = None  # the agent that takes over
    waits: bool = False  # for a person

    @property
    def handovers(self) -> dict[str, str]:
        """By the name of the tool, the agent that would take over."""
        return {handover_tool(agent): agent for agent in self.seat.agent.hands_over_to}

    def prompt(self) -> Prompt:
        return replace(
            self.seat.prompt,
            messages=self.messages,
            searches=self.searches,
            container=self.container,
        )

    def batch(self, outputs: Sequence[Output]) -> Batch:
        return Batch(outputs, self.seat.agent.ref, self.call)

    def answers(self, answer: Answer) -> None:
        """Add the answer to the messages for the next call, and count the searches it used."""
        self.answer, self.calls, self.grown = answer, answer.calls, True
        add(self.messages, "assistant", answer_blocks(answer.message, answer.tool_uses))
        add(self.messages, "user", [result_block(each) for each in answer.refused])
        if self.searches is not None:
            self.searches = max(0, self.searches - searches_of(answer.message.reported))
        self.container = container_of(answer.message) or self.container


class _Loop:
    """The loop of one turn."""

    def __init__(self, ask: Ask, model: Model, guard: CallGuard) -> None:
        self._ask = ask
        self._model = model
        self._guard = guard
        self._calls = iter(range(ask.max_calls))
        self._names = count(1)
        self._taken: set[str] = set()  # ids of calls

    async def run(self) -> Batches:
        speaker: str | None = self._ask.speaker
        open_calls = self._ask.open_calls
        while speaker is not None:
            part = await self._seated(speaker)
            async with aclosing(self._speak(part, open_calls)) as batches:
                async for batch in batches:
                    yield batch
            speaker, open_calls = part.successor, ()

    async def _seated(self, agent_id: str, delegated: bool = False, shorter: bool = False) -> _Part:
        seat = await self._ask.team.seat(agent_id, shorter=shorter)
        prompt = seat.prompt
        self._taken |= seat.tool_ids
        return _Part(
            seat=seat,
            delegated=delegated,
            messages=list(prompt.messages),
            searches=prompt.searches,
            container=prompt.container,
            known_only=seat.known_only,
        )

    async def _speak(self, part: _Part, open_calls: Sequence[OpenCall] = ()) -> Batches:
        """One agent speaks until it has answered, hands over, or a person must decide."""
        if part.seat.records:
            yield part.batch(part.seat.records)
        part.calls = [o.call for o in open_calls if o.agent.id == part.seat.agent.id]
        while True:
            if part.calls:
                results: list[k.ToolResult] = []
                async with aclosing(self._run(part, open_calls)) as running:
                    async for batch in running:
                        yield batch
                        results += results_of(batch, part.calls)
                if len(results) < len(part.calls):
                    part.waits = True
                    return
                add(part.messages, "user", [result_block(each) for each in results])
                part.grown = True
            async with aclosing(self._ask_model(part)) as batches:
                async for batch in batches:
                    yield batch
            open_calls = ()
            if part.successor or part.answer is None or not part.answer.goes_on:
                return

    # one call of the model

    async def _ask_model(self, part: _Part) -> Batches:
        if next(self._calls, None) is None:
            raise TooManyCalls
        part.call, part.shown = str(next(self._names)), False
        if part.grown and (record := _mend(part)):
            yield part.batch([record])
        verdict = await self._guard.before(part.prompt(), self._model)
        if verdict.records:
            yield part.batch(verdict.records)
        if verdict.refusal is not None:
            raise verdict.refusal
        async with aclosing(self._answer(part)) as batches:
            async for outputs in batches:
                if is_chunk(outputs):  # most outputs are a single chunk
                    part.shown = True
                    yield part.batch(outputs)
                    continue
                part.shown = part.shown or any(isinstance(o, _PIECES) for o in outputs)
                yield part.batch(self._kept(part, outputs))
        goes_on = part.answer is not None and part.answer.goes_on
        verdict = await self._guard.after(goes_on=goes_on)
        if verdict.records:
            yield part.batch(verdict.records)
        if verdict.refusal is not None:
            raise verdict.refusal

    async def _answer(self, part: _Part) -> AsyncGenerator[Sequence[CallOutput], None]:
        """Call the model. If it rejects the prompt, call it once more with a changed one."""
        try:
            async with aclosing(self._model.call(part.prompt())) as batches:
                async for outputs in batches:
                    yield outputs
            return
        except EngineFailed as failure:
            records = () if part.shown else await self._changed(part, failure)
            if not records:
                raise
        yield records
        async with aclosing(self._model.call(part.prompt())) as batches:
            async for outputs in batches:
                yield outputs

    async def _changed(self, part: _Part, failure: EngineFailed) -> Sequence[Event]:
        """Change the prompt so that the model accepts it. Returns the records; none: no change."""
        if failure.code == REFUSED:
            part.known_only = True
            record = _mend(part)
            return [record] if record else []
        if failure.code == TOO_LONG and part.answer is None and self._ask.may_be_shorter:
            shorter = await self._seated(part.seat.agent.id, shorter=True)
            part.messages = shorter.messages
            return shorter.seat.records
        return []

    def _kept(self, part: _Part, outputs: Sequence[CallOutput]) -> Sequence[Output]:
        """The outputs. Those that end an answer include everything that is stored with it."""
        answer = read_answer(outputs, self._taken, part.handovers, shown=part.shown)
        if answer is None:
            return [output for output in outputs if not isinstance(output, UnreadableCall)]
        part.answers(answer)
        alone = len(answer.tool_uses) == len(answer.calls) == 1
        if alone and not part.delegated and answer.calls[0].tool_name in part.handovers:
            return [*answer.outputs, *self._handed_over(part, answer.calls[0])]
        return answer.outputs

    def _handed_over(self, part: _Part, call: k.ToolUse) -> list[Output]:
        part.successor = part.handovers[call.tool_name]
        part.calls = []
        to = self._ask.team.agents[part.successor].ref
        taken_over = result(call, f"{to.name} takes over and answers the user.")
        reason = str(call.args.get("reason") or "")
        return [Hidden(event=taken_over), SpeakerChanged(to=to, reason=reason)]

    # the tools of an answer, and the tasks of other agents

    def _run(self, part: _Part, open_calls: Sequence[OpenCall]) -> Batches:
        handovers = part.handovers
        tools = [call for call in part.calls if call.tool_name not in handovers]
        running = [self._tools(part, tools)] if tools else []
        at_work: set[str] = set()
        for call in part.calls:
            if (agent_id := handovers.get(call.tool_name)) is None:
                continue
            if part.delegated or agent_id in at_work:
                why = NOT_HERE if part.delegated else AT_WORK
                running.append(_at_once(part.batch([Hidden(event=failed(call, why))])))
            else:
                at_work.add(agent_id)
                running.append(self._delegate(part, call, agent_id, open_calls))
        return running[0] if len(running) == 1 else together(running)

    async def _tools(self, part: _Part, calls: Sequence[k.ToolUse]) -> Batches:
        async with aclosing(part.seat.tools.run(calls)) as running:
            async for outputs in running:
                yield part.batch(outputs)

    async def _delegate(
        self, part: _Part, call: k.ToolUse, agent_id: str, open_calls: Sequence[OpenCall]
    ) -> Batches:
        """Another agent works on a task; its answer is the result of the call."""
        message = self._answered_before(call, agent_id, open_calls)
        if message is None:
            worker = await self._seated(agent_id, delegated=True)
            try:
                async with aclosing(self._speak(worker, open_calls)) as batches:
                    async for batch in batches:
                        yield batch
            except EngineFailed as failure:
                yield worker.batch([CallFailed()])
                yield part.batch([Hidden(event=failed(call, str(failure)))])
                return
            if worker.waits or worker.answer is None:
                return
            message = worker.answer.message
        if message.stop_reason == "interrupted":  # the process died while the worker wrote it
            closed = failed(call, CUT_OFF.format(text=message.content))
        else:
            closed = result(call, message.content)
        yield part.batch([Hidden(event=closed)])

    def _answered_before(
        self, call: k.ToolUse, agent_id: str, open_calls: Sequence[OpenCall]
    ) -> k.Message | None:
        """The worker's answer, if the worker was done before the turn was resumed."""
        if not any(opened.call.tool_use_id == call.tool_use_id for opened in open_calls):
            return None
        busy = any(opened.agent.id == agent_id for opened in open_calls)
        message = self._ask.answers.get(agent_id)
        return None if busy or message is None or message.stop_reason in GOES_ON else message


_PIECES = (k.MessageChunk, k.ThinkingStart, k.ThinkingChunk)


def _mend(part: _Part) -> k.HistoryRepaired | None:
    """Repair the messages for the next call. Returns a record if anything was repaired."""
    telling = mended(part.messages, fully=part.known_only)
    part.messages = telling.messages
    return repair_record(telling.repaired)


async def _at_once(batch: Batch) -> Batches:
    yield batch
