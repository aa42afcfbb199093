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

import msgspec

from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.ports import (
    NO_GUARD,
    Ask,
    Batch,
    CallFailed,
    CallStarted,
    Engine,
    Model,
    OpenCall,
    owns_loop,
)
from turnlog.speaking.answer import results_of
from turnlog.speaking.part import Part, Task
from turnlog.speaking.speakers import Speakers, closed, refused
from turnlog.speaking.together import together

Batches = AsyncGenerator[Batch, None]
ClaimId = Callable[[str], Awaitable[str]]


def execute(ask: Ask, answerer: Model | Engine) -> Batches:
    """The batches of the turn."""
    return answerer.answer(ask) if owns_loop(answerer) else _Loop(ask, answerer).run()


async def named(batch: Batch, claim_id: ClaimId) -> Batch:
    """A provider may repeat an id or give none. So each call gets a unique id when it starts.

    `claim_id` gives a message an id that no other message has.
    """
    for place, output in enumerate(batch.outputs):
        if type(output) is CallStarted:
            claimed = await claim_id(output.message_id)
            if claimed != output.message_id:
                outputs = [*batch.outputs]
                outputs[place] = msgspec.structs.replace(output, message_id=claimed)
                batch = msgspec.structs.replace(batch, outputs=outputs)
    return batch


class _Loop:
    """The loop of one turn."""

    def __init__(self, ask: Ask, model: Model) -> None:
        self._ask = ask
        self._speakers = Speakers(ask, model)

    async def run(self) -> Batches:
        speaker: str | None = self._ask.speaker
        open_calls = self._ask.open_calls
        while speaker is not None:
            part = await self._speakers.seat(speaker)
            async with aclosing(self._speak(part, open_calls)) as batches:
                async for batch in batches:
                    yield batch
            speaker, open_calls = part.successor, ()

    async def _speak(self, part: Part, open_calls: Sequence[OpenCall] = ()) -> Batches:
        """One agent speaks until it has answered, hands over, or a person must decide."""
        if part.seat.records:
            yield part.batch(part.seat.records)
        part.goes_on_with(open_calls)
        while True:
            if part.calls:
                results: list[k.ToolResult] = []
                async with aclosing(self._run(part, open_calls)) as running:
                    async for batch in running:
                        yield batch
                        results += results_of(batch, part.calls)
                part.gets(results)
                if part.waits:
                    return
            async with aclosing(self._speakers.ask_model(part)) as batches:
                async for batch in batches:
                    ends = part.answer is not None and self._ends(part)
                    yield msgspec.structs.replace(batch, ends=True) if ends else batch
            open_calls = ()
            if part.is_over:
                return

    def _ends(self, part: Part) -> bool:
        """Whether nothing can follow this answer: no guard looks at it, and nobody takes over."""
        if part.delegated or self._ask.guard is not NO_GUARD:
            return False
        return part.is_over and part.successor is None

    def _run(self, part: Part, open_calls: Sequence[OpenCall]) -> Batches:
        running = [self._speakers.run_tools(part)] if part.tool_calls else []
        running += [self._delegate(part, task, open_calls) for task in part.tasks]
        return running[0] if len(running) == 1 else together(running)

    async def _delegate(self, part: Part, task: Task, open_calls: Sequence[OpenCall]) -> Batches:
        """Another agent works on a task; its answer is the result of the call."""
        if task.refusal:
            yield part.batch([refused(task, task.refusal)])
            return
        message = self._speakers.answered_before(task, open_calls)
        if message is None:
            worker = await self._speakers.seat(task.agent_id, delegated=True)
            try:
                async with aclosing(self._speak(worker, open_calls)) as batches:
                    async for batch in batches:
                        yield batch
            except EngineFailed as failure:
                yield worker.batch([CallFailed()])
                yield part.batch([refused(task, str(failure))])
                return
            if worker.waits or worker.answer is None:
                return
            message = worker.answer.message
        yield part.batch([closed(task, message)])
