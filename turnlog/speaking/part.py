"""One agent's part of a turn: what it has been told so far, and how it ended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.usage import searches_of
from turnlog.ports import Batch, OpenCall, Output, Prompt, Seat, Straight
from turnlog.projections.history.clean import CleanHistory, mended, repair_record
from turnlog.projections.history.messages import add, answer_blocks, container_of, result_block
from turnlog.speaking.answer import Answer

NOT_HERE = "You work on a part of the task. Finish it; you cannot hand over."
AT_WORK = "This agent works on another part already. Ask it again when that is done."


class Task(NamedTuple):
    """A call that hands a part of the work to another agent; or why it cannot."""

    call: k.ToolUse
    agent_id: str
    refusal: str = ""


class Part(Struct):
    """One agent's part of the turn. It changes as the agent goes on."""

    seat: Seat
    delegated: bool  # it works on a task that another agent gave it
    messages: list[dict[str, Any]]
    searches: int | None
    container: str | None
    known_only: bool  # whether blocks of unknown types are left out
    clean: CleanHistory  # how much of the messages breaks no rule
    call: str = ""  # names the model call that is under way
    shown: bool = False  # whether anything of that call was shown
    grown: bool = False  # whether `messages` has more than was built from the log
    answer: Answer | None = None  # its newest one
    calls: list[k.ToolUse] = []  # to be run next
    successor: str | None = None  # the agent that takes over
    waits: bool = False  # for a person

    @property
    def handovers(self) -> Mapping[str, str]:
        """By the name of the tool, the agent that would take over."""
        return self.seat.agent.handovers

    @property
    def is_over(self) -> bool:
        """Whether the agent has answered, or handed over."""
        return self.successor is not None or self.answer is None or not self.answer.goes_on

    @property
    def tool_calls(self) -> list[k.ToolUse]:
        """The calls to be run that are no hand-overs."""
        handovers = self.handovers
        return [call for call in self.calls if call.tool_name not in handovers]

    @property
    def tasks(self) -> Iterator[Task]:
        """The calls to be run that hand a part of the work to other agents."""
        handovers, at_work = self.handovers, set[str]()
        for call in self.calls:
            if (agent_id := handovers.get(call.tool_name)) is None:
                continue
            refusal = NOT_HERE if self.delegated else AT_WORK if agent_id in at_work else ""
            at_work.add(agent_id)
            yield Task(call, agent_id, refusal)

    def prompt(self, straight: Straight) -> Prompt:
        return replace(
            self.seat.prompt,
            messages=self.messages,
            searches=self.searches,
            container=self.container,
            straight=straight,
        )

    def batch(self, outputs: Sequence[Output]) -> Batch:
        return Batch(outputs, self.seat.agent.ref, self.call)

    def goes_on_with(self, open_calls: Sequence[OpenCall]) -> None:
        """The calls of a turn that goes on: this agent's own come first."""
        self.calls = [o.call for o in open_calls if o.agent.id == self.seat.agent.id]

    def answers(self, answer: Answer) -> None:
        """Add the answer to the messages for the next call, and count the searches it used."""
        self.answer, self.calls, self.grown = answer, answer.calls, True
        add(self.messages, "assistant", answer_blocks(answer.message, answer.tool_uses))
        add(self.messages, "user", [result_block(each) for each in answer.refused])
        if self.searches is not None:
            self.searches = max(0, self.searches - searches_of(answer.message.reported))
        self.container = container_of(answer.message) or self.container

    def gets(self, results: Sequence[k.ToolResult]) -> None:
        """The results of its calls. Fewer than calls: it waits for a person."""
        if len(results) < len(self.calls):
            self.waits = True
            return
        add(self.messages, "user", [result_block(each) for each in results])
        self.grown = True

    def mend(self) -> k.HistoryRepaired | None:
        """Repair the messages for the next call. Returns a record if anything was repaired."""
        telling = mended(self.messages, fully=self.known_only, clean=self.clean)
        self.messages = telling.messages
        if telling.repaired:  # it goes on with what was told: nothing is left to repair in that
            self.clean = self.clean.of_what_was_told()
        return repair_record(telling.repaired)
