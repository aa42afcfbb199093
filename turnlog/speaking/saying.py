"""For engines that run their own loop: what happens in a turn is said, batch by batch."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.ports import Batch, CallFailed, Hidden, OpenCall
from turnlog.speaking.answer import results_of
from turnlog.speaking.part import Part, Task
from turnlog.speaking.speakers import Batches, Speakers, closed, refused

Speak = Callable[[Part, Sequence[OpenCall]], Awaitable[None]]


@dataclass(frozen=True)
class Saying:
    """The agents of one turn, and where what they say goes."""

    speakers: Speakers
    say: Callable[[Batch], Awaitable[None]]  # returns when the batch is stored

    async def all_of(self, batches: Batches, calls: Sequence[k.ToolUse] = ()) -> list[k.ToolResult]:
        """Say them all. Returns the results that belong to these calls."""
        results: list[k.ToolResult] = []
        async with aclosing(batches):
            async for batch in batches:
                await self.say(batch)
                if calls:
                    results += results_of(batch, calls)
        return results

    async def begin(self, part: Part, open_calls: Sequence[OpenCall]) -> None:
        """An agent begins to speak, or goes on with the calls of its own that are open."""
        if part.seat.records:
            await self.say(part.batch(part.seat.records))
        part.goes_on_with(open_calls)

    async def work(
        self, part: Part, task: Task, open_calls: Sequence[OpenCall], speak: Speak
    ) -> list[k.ToolResult]:
        """Another agent works on a task: `speak` has it speak until it has answered. Its answer is
        the result of the call; there is none while it waits for a person.
        """
        if task.refusal:
            return await self._close(part, refused(task, task.refusal))
        message = self.speakers.answered_before(task, open_calls)
        if message is None:
            worker = await self.speakers.seat(task.agent_id, delegated=True)
            try:
                await speak(worker, open_calls)
            except EngineFailed as failure:
                await self.say(worker.batch([CallFailed()]))
                return await self._close(part, refused(task, str(failure)))
            if worker.waits or worker.answer is None:
                return []
            message = worker.answer.message
        return await self._close(part, closed(task, message))

    async def _close(self, part: Part, hidden: Hidden) -> list[k.ToolResult]:
        batch = part.batch([hidden])
        await self.say(batch)
        return results_of(batch, part.calls)
