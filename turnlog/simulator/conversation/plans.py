"""What a plan is: a generator that asks for tool calls, is sent their results, and says the end.

The API is stateless, so a plan is run again from its start for every request: it is sent the
results that the history holds, and the first calls that have no result are what to call now.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import date

from ..script import Json
from .records import Known, Record
from .talk import Done, Talk
from .toolbox import Tool, by_name


@dataclass(frozen=True)
class Wanted:
    """A call to make."""

    name: str
    input: Json


@dataclass(frozen=True)
class Batch:
    """Calls that can be made at once, what to say before them, and the thought behind them."""

    calls: tuple[Wanted, ...]
    says: str = ""
    thinks: str = ""


@dataclass(frozen=True)
class Told:
    """The end of a plan. `asks` is the argument that the user has to give first."""

    text: str
    thinks: str = ""
    asks: str | None = None
    failed: bool = False  # what was to follow must not happen
    sources: tuple[Done, ...] = ()  # results with search results in them, to be cited


Plan = Generator[Batch, list[Done], Told]


class Missing(Exception):
    """A required argument that neither the user nor any tool has told."""

    def __init__(self, parameter: str, question: str) -> None:
        super().__init__(question)
        self.parameter, self.question = parameter, question


@dataclass
class Desk:
    """What a plan works with."""

    talk: Talk
    tools: Sequence[Tool]
    today: date
    known: Known = field(default_factory=Known)
    given: dict[str, str] = field(default_factory=dict)  # answers to what was asked back
    fresh: list[Record] = field(default_factory=list)  # read by their key in this very turn
    forced: bool = False  # a tool must be called, whatever is missing

    def learn(self, done: Done) -> None:
        """What the call was about is what "it" means next, even when it failed."""
        tool = by_name(self.tools, done.name) or Tool(done.name, "", {})
        for name in tool.parameters:
            if tool.kind(name) == "reference":
                self.known.point_at(tool.noun_of(name), done.input.get(name))
        self.known.add(done, tool.head)


def run(plan: Plan, made: Sequence[Done], one_at_a_time: bool = False) -> Batch | Told | None:
    """What to call now, or what to say at the end. None: the history is not of this plan."""
    left = list(made)
    try:
        batch = next(plan)
        while len(left) >= len(batch.calls):
            results = left[: len(batch.calls)]
            if not _are_of(results, batch):
                return None
            del left[: len(batch.calls)]
            batch = plan.send(results)
    except StopIteration as end:
        told: Told = end.value
        return told if not left else None
    if not _are_of(left, batch):
        return None
    calls = batch.calls[len(left) :]
    return Batch(calls[:1] if one_at_a_time else calls, "" if left else batch.says, batch.thinks)


def _are_of(results: Sequence[Done], batch: Batch) -> bool:
    pairs = zip(results, batch.calls, strict=False)
    return all(done.name == wanted.name for done, wanted in pairs)


def side_by_side(plans: Sequence[Plan]) -> Generator[Batch, list[Done], list[Told]]:
    """Plans that do not need each other: their calls are made together, round by round."""
    told: dict[int, Told] = {}
    open_batches = {at: step for at, plan in enumerate(plans) if (step := _first(plan, told, at))}
    while open_batches:
        results = yield _joined(list(open_batches.values()))
        for at, batch in list(open_batches.items()):
            mine, results = results[: len(batch.calls)], results[len(batch.calls) :]
            try:
                open_batches[at] = plans[at].send(mine)
            except StopIteration as end:
                told[at] = end.value
                del open_batches[at]
    return [told[at] for at in range(len(plans))]


def _first(plan: Plan, told: dict[int, Told], at: int) -> Batch | None:
    try:
        return next(plan)
    except StopIteration as end:
        told[at] = end.value
        return None


def _joined(batches: Sequence[Batch]) -> Batch:
    return Batch(
        tuple(call for batch in batches for call in batch.calls),
        " ".join(dict.fromkeys(batch.says for batch in batches if batch.says)),
        " ".join(dict.fromkeys(batch.thinks for batch in batches if batch.thinks)),
    )
