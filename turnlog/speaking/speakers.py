"""The agents of one turn at work: a seat for each, its model calls, its tools, its tasks."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import count

from turnlog.errors import EngineFailed, TooManyCalls
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.chunks import Chunk, is_chunk
from turnlog.events.grammar import GOES_ON
from turnlog.ports import (
    Ask,
    Batch,
    CallOutput,
    Hidden,
    Model,
    OpenCall,
    Output,
    SpeakerChanged,
    Straight,
    UnreadableCall,
    Verdict,
)
from turnlog.ports.model import not_straight
from turnlog.projections.history.clean import CleanHistory
from turnlog.speaking.answer import failed, read_answer, result
from turnlog.speaking.part import Part, Task

Batches = AsyncGenerator[Batch, None]
TOO_LONG = "context_exceeded"  # the code of a failure: the prompt is too long for the model
REFUSED = "invalid_request"  # the code of a failure: the model rejects something in the prompt
CUT_OFF = "The answer of this agent was cut off: {text}"


class Speakers:
    """The agents of one turn. Which of them speaks when is for the loop to say."""

    def __init__(self, ask: Ask, model: Model) -> None:
        self._ask = ask
        self._model = model
        self._guard = ask.guard
        self._calls = iter(range(ask.max_calls))
        self._names = count(1)
        self._taken: set[str] = set()  # ids of calls

    async def seat(self, agent_id: str, *, delegated: bool = False, shorter: bool = False) -> Part:
        """The agent with what it is told, as the log has it now."""
        seat = await self._ask.team.seat(agent_id, shorter=shorter)
        prompt = seat.prompt
        self._taken |= seat.tool_ids
        return Part(
            seat=seat,
            delegated=delegated,
            messages=list(prompt.messages),
            searches=prompt.searches,
            container=prompt.container,
            known_only=seat.known_only,
            clean=seat.clean or CleanHistory(),
        )

    # one call of the model

    async def ask_model(self, part: Part) -> Batches:
        """Raises TooManyCalls, what a guard refuses with, or EngineFailed."""
        if next(self._calls, None) is None:
            raise TooManyCalls
        part.call, part.shown = str(next(self._names)), False
        if part.grown and (record := part.mend()):
            yield part.batch([record])
        me = part.seat.agent.id
        straight = self._straight(part)
        prompt = part.prompt(straight)
        verdict = await self._guard.before(prompt, self._model, me)
        if verdict.records:
            yield part.batch(verdict.records)
        _obey(verdict)
        changed: Sequence[Event] = ()
        while True:
            try:
                async with aclosing(self._model.call(prompt)) as answer:
                    async for outputs in answer:
                        yield self._said(part, outputs)
                break
            except EngineFailed as failure:  # if the model rejects the prompt: once more
                changed = () if changed or part.shown else await self._changed(part, failure)
                if not changed:
                    raise
            yield part.batch(changed)
            prompt = part.prompt(straight)
        goes_on = part.answer is not None and part.answer.goes_on
        verdict = await self._guard.after(goes_on=goes_on, agent_id=me)
        if verdict.records:
            yield part.batch(verdict.records)
        _obey(verdict)

    def _said(self, part: Part, outputs: Sequence[CallOutput]) -> Batch:
        """What the model just said."""
        if is_chunk(outputs):  # most outputs are a single chunk
            part.shown = True
            return part.batch(outputs)
        part.shown = part.shown or bool([o for o in outputs if type(o) in _PIECES])
        return part.batch(self._kept(part, outputs))

    def _straight(self, part: Part) -> Straight:
        """A way for chunks that wakes nobody. Those who work on a task have none: others work at
        the same time, and what they say waits in line."""
        if part.delegated:
            return not_straight
        show, agent, call = self._ask.straight, part.seat.agent.ref, part.call

        def straight(chunks: Sequence[Chunk]) -> bool:
            shown = show(Batch(chunks, agent, call))
            part.shown = part.shown or shown
            return shown

        return straight

    async def _changed(self, part: Part, failure: EngineFailed) -> Sequence[Event]:
        """Change the prompt so that the model accepts it. Returns the records; none: no change."""
        if failure.code == REFUSED:
            part.known_only = True
            record = part.mend()
            return [record] if record else []
        if failure.code == TOO_LONG and part.answer is None and self._ask.may_be_shorter:
            shorter = await self.seat(part.seat.agent.id, shorter=True)
            part.messages = shorter.messages
            return shorter.seat.records
        return []

    def _kept(self, part: Part, outputs: Sequence[CallOutput]) -> Sequence[Output]:
        """The outputs. Those that end an answer include everything that is stored with it."""
        answer = read_answer(outputs, self._taken, part.handovers, shown=part.shown)
        if answer is None:
            return [output for output in outputs if not isinstance(output, UnreadableCall)]
        part.answers(answer)
        alone = len(answer.tool_uses) == 1 == len(answer.calls)
        if alone and not part.delegated and answer.calls[0].tool_name in part.handovers:
            return [*answer.outputs, *self._handed_over(part, answer.calls[0])]
        return answer.outputs

    def _handed_over(self, part: Part, call: k.ToolUse) -> list[Output]:
        part.successor = part.handovers[call.tool_name]
        part.calls = []
        to = self._ask.team.agents[part.successor].ref
        taken_over = result(call, f"{to.name} takes over and answers the user.")
        reason = str(call.args.get("reason") or "")
        return [Hidden(event=taken_over), SpeakerChanged(to=to, reason=reason)]

    # the tools of an answer, and the tasks of other agents

    async def run_tools(self, part: Part) -> Batches:
        async with aclosing(part.seat.tools.run(part.tool_calls)) as running:
            async for outputs in running:
                yield part.batch(outputs)

    def answered_before(self, task: Task, open_calls: Sequence[OpenCall]) -> k.Message | None:
        """The worker's answer, if the worker was done before the turn was resumed."""
        if not any(opened.call.tool_use_id == task.call.tool_use_id for opened in open_calls):
            return None
        busy = any(opened.agent.id == task.agent_id for opened in open_calls)
        message = self._ask.answers.get(task.agent_id)
        return None if busy or message is None or message.stop_reason in GOES_ON else message


def closed(task: Task, message: k.Message) -> Hidden:
    """The worker's answer as the result of the call that gave it its task."""
    if message.stop_reason == "interrupted":  # the process died while the worker wrote it
        return Hidden(event=failed(task.call, CUT_OFF.format(text=message.content)))
    return Hidden(event=result(task.call, message.content))


def refused(task: Task, why: str) -> Hidden:
    """The task was not done, and the agent that gave it is told why."""
    return Hidden(event=failed(task.call, why))


_PIECES = (k.MessageChunk, k.ThinkingStart, k.ThinkingChunk)


def _obey(verdict: Verdict) -> None:
    if verdict.refusal is not None:
        raise verdict.refusal
