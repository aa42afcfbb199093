"""A plan: a generator that yields tool calls, is sent their results, and returns what to say.

The API is stateless, so a plan runs again from its start for every request: it is sent the
results that the history holds, and the first calls without a result are the ones to make now.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..script import Block, Json, Usage
from .talk import Done, Talk
from .tools import Call, Ended, Tool, example


class Batch(NamedTuple):
    """Calls to make at once, and what to say before them. None: their names."""

    calls: Sequence[Call]
    text: str | None = None


class Speech(NamedTuple):
    """An answer that is more than text: with citations, or with searches to pay for."""

    blocks: list[Block]
    usage: Usage = Usage()


Plan = Generator[Batch, list[Done], str]
Start = Callable[[], Plan | Speech | str]  # what has nothing to call is no generator


@dataclass
class Desk:
    """What a plan works with."""

    talk: Talk
    tools: Mapping[str, Tool]
    results: list[Done] = field(default_factory=list)  # of this turn, so far

    def call(self, name: str, /, **arguments: Any) -> Call:
        """A call that fits the schema. Raises Ended where the tool wants anything else."""
        tool = self.tools.get(name) or Tool(name, {}, [])
        if name in self.tools and set(tool.required) <= set(arguments) <= set(tool.parameters):
            return Call(name, arguments)
        raise Ended(f"I cannot read the arguments of {name} in a sentence. Say: {example(tool)}")

    def last(self, kind: str) -> Json | None:
        """What "it" is: the one record of this kind that the newest turn with any has told of."""
        for calls in (self.results, *(turn.calls for turn in reversed(self.talk.past))):
            every = [done.rows for done in calls if done.kind == kind and done.rows is not None]
            if every:
                ones = [rows[0] for rows in every if len(rows) == 1]
                keys = {str(row.get("id", row.get("number"))) for row in ones}
                is_one = len(every[-1]) == 1 == len(keys) and not ones[-1].get("deleted")
                return ones[-1] if is_one else None
        return None


def in_order(starts: Sequence[Start]) -> Generator[Batch, list[Done], str | Speech]:
    """One after the other. Nothing follows a plan that ended early; a speech stands alone."""
    texts: list[str] = []
    for at, start in enumerate(starts):
        try:
            answer = start()
            answer = (yield from answer) if isinstance(answer, Generator) else answer
        except Ended as end:
            stopped = ["So I stopped there, and did not do the rest."] * (at + 1 < len(starts))
            return "\n\n".join([*texts, str(end), *stopped])
        if isinstance(answer, Speech):
            return answer
        texts.append(answer)
    return "\n\n".join(texts)


def run(desk: Desk, starts: Sequence[Start], made: Sequence[Done]) -> Batch | str | Speech | None:
    """The calls to make now, or what to say at the end. None: the history is not of this plan."""
    plan, left = in_order(starts), list(made)
    try:
        batch = next(plan)
        while len(left) >= len(batch.calls) and _are_of(batch, left):
            results, left = left[: len(batch.calls)], left[len(batch.calls) :]
            desk.results += results
            batch = plan.send(results)
    except StopIteration as end:
        answer: str | Speech = end.value
        return None if left else answer
    if not _are_of(batch, left):
        return None
    is_alone = (desk.talk.body.get("tool_choice") or {}).get("disable_parallel_tool_use")
    calls = batch.calls[len(left) :][: 1 if is_alone else None]
    return Batch(calls, "" if left else batch.text)


def _are_of(batch: Batch, results: Sequence[Done]) -> bool:
    pairs = zip(results, batch.calls, strict=False)
    return all(done.name == call.name for done, call in pairs)
