"""All that changes during a turn. Made fresh for each, passed along, never shared."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import count

from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event, Stamped
from turnlog.events.content import Block, TokenUsage
from turnlog.events.grammar import GOES_ON
from turnlog.events.handovers import HANDOVER
from turnlog.events.ids import named_id, new_message_id, new_stem
from turnlog.events.search_results import blocks_of
from turnlog.pipeline.drafts import Draft
from turnlog.ports import ApprovalState, Batch, CallStarted, OpenCall, Standing, Turn
from turnlog.projections.citations import Sources
from turnlog.projections.history.messages import MOST_OF_A_RESULT


class TurnState:
    """Where a turn stands."""

    def __init__(self, turn: Turn, agent: AgentRef, *, index: int = 0) -> None:
        self.turn = turn
        self.agent = agent  # who speaks
        self.index = index  # of the next event on screen
        self.position = -1  # number of the last kept event
        self.prefixes: dict[str, str] = {}  # by agent: fingerprint of prompt, tools and model
        self.prompts: dict[str, str] = {}  # by agent, as they were made for this turn
        # By agent: what its prompt has that can be cited.
        self.sources: dict[str, Callable[[], Sources] | None] = {}
        self.found: list[Block] = []  # what searches of this turn have found
        self.file_ids: Sequence[str] = ()  # that came with the question
        self.asked_tools: set[str] = set()
        self.open_calls: dict[str, OpenCall] = {}
        self.standing = Standing()  # which calls are approved, refused or begun
        self.resumptions = 0
        self.paused: k.EnginePaused | None = None  # where an engine waits for people
        self.suspended = False  # it waits for a person, and no process holds it
        self.is_over = False  # in the store, and its end was shown
        self.delivering = asyncio.Lock()  # the question first; a decision may come at any time
        # While something is delivered: shows the chunks that came meanwhile.
        self.held_back: list[Callable[[], None]] | None = None
        self.drafts: dict[str, Draft] = {}  # by call: answers that are being written
        self.summaries: dict[str, k.HistorySummarized] = {}  # calls that the log does not have yet
        self.answers: dict[str, k.Message] = {}  # by agent: its newest one, since it was asked
        self.usage = TokenUsage()
        self.costs: list[Decimal | None] = []  # of the calls so far
        self.message_ids: set[str] = set()  # of the answers that are kept
        self.texts: list[str] = []  # of these answers
        self.last_message: k.Message | None = None
        self.model = ""  # that answered last; the message of a stop names none
        self._owes_answer = False  # a result came after the last message
        self.tools_used: dict[str, str] = {}  # by call: those that nobody refused
        # UUIDs for its events: a random stem for the turn and a counter, which is cheap.
        self.ids = map(f"{new_stem()}-{{:012x}}".format, count(1))

    @property
    def answered(self) -> bool:
        """Whether the last message was meant as the end, and not as the result of a task."""
        last = self.last_message
        if last is None or self.open_calls or self._owes_answer:
            return False
        return last.stop_reason not in GOES_ON

    @property
    def pending(self) -> list[str]:
        """The calls that a person has not decided yet."""
        return self.standing.pending(self.open_calls)

    @property
    def ready(self) -> bool:
        """Whether a person has decided on a call that has no result yet."""
        undecided = self.pending
        known = (tool for tool in self.open_calls if tool in self.standing.approvals)
        return any(tool not in undecided for tool in known)

    def from_outside(self, event: Event) -> Batch:
        """The event as a batch of the agent that it is about: a decision is about its call."""
        if isinstance(event, k.ApprovalResolved):
            for opened in self.open_calls.values():
                approval = self.standing.approvals.get(opened.call.tool_use_id)
                if approval is not None and approval.approval_id == event.approval_id:
                    return Batch([event], opened.agent)
        return Batch([event])

    def event_id(self, event: Event) -> str:
        """That of `complete` never changes, because `complete` may be made again."""
        if type(event) is k.Complete:
            return named_id(f"turnlog:{self.turn.id}:complete")
        return next(self.ids)

    def call_started(self, call: CallStarted, key: str, agent: AgentRef) -> None:
        again = self.drafts.get(key)  # a stream that begins anew is the same answer
        self.drafts[key] = Draft(
            message_id=again.message_id if again else call.message_id or new_message_id(),
            model=call.model,
            reported=call.reported,
            agent=agent,
        )

    def rename_drafts(self, fresh: Mapping[str, str]) -> None:
        """These message ids were taken: the drafts get the fresh ones."""
        for draft in self.drafts.values():
            draft.message_id = fresh.get(draft.message_id, draft.message_id)

    def kept(self, event: Event, agent: AgentRef, internal: bool) -> None:
        """The event is on disk: only now does it count."""
        match event:
            case k.Message():
                self._answered(event, agent)
            case k.ToolUse():
                self._called(event, agent, internal)
            case k.AgentChanged():
                self.agent = agent  # the event is from the agent that takes over
            case k.ToolResult():
                self._closed(event)
            case k.ApprovalRequested():
                self.standing.approvals[event.tool_use_id] = ApprovalState(
                    approval_id=event.approval_id, args=event.args, args_hash=event.args_hash
                )
            case k.ApprovalResolved():
                self._decided(event)
            case k.TurnResumed():
                self.resumptions += 1
            case k.EnginePaused():
                self.paused = event
            case k.HistorySummarized():
                self.summaries.pop(event.message_id, None)
                self._billed(event)

    def _called(self, call: k.ToolUse, agent: AgentRef, internal: bool) -> None:
        self.asked_tools.add(call.tool_use_id)
        self.open_calls[call.tool_use_id] = OpenCall(call=call, agent=agent, hidden=internal)
        if not internal:
            self.tools_used[call.tool_use_id] = call.tool_name
        else:  # a hand-over: the other agent's earlier answer is old
            self.answers.pop(call.tool_name.removeprefix(HANDOVER), None)

    def _closed(self, result: k.ToolResult) -> None:
        self.open_calls.pop(result.tool_use_id, None)
        self._owes_answer = True
        if result.success:  # or else the model is told the error alone
            self.found += blocks_of(result.result, MOST_OF_A_RESULT) or ()

    def _answered(self, message: k.Message, agent: AgentRef) -> None:
        drafts = self.drafts.items()
        self.drafts = {key: d for key, d in drafts if d.message_id != message.message_id}
        self.answers[agent.id] = message
        self.message_ids.add(message.message_id)
        self.texts.append(message.content)
        self.last_message, self._owes_answer = message, False
        self.model = message.model or self.model
        self.found += [b for b in message.blocks if b["type"] == "web_search_tool_result"]
        self._billed(message)

    def _billed(self, call: k.Message | k.HistorySummarized) -> None:
        self.usage += call.token_usage
        self.costs.append(call.cost_usd)

    def _decided(self, event: k.ApprovalResolved) -> None:
        for tool_use_id, approval in self.standing.approvals.items():
            if approval.approval_id == event.approval_id:
                if not event.approved:
                    self.tools_used.pop(tool_use_id, None)
                self.standing.approvals[tool_use_id] = ApprovalState(
                    approval_id=approval.approval_id,
                    args=approval.args if event.args is UNSET else event.args,
                    args_hash=event.args_hash,
                    outcome=event.outcome,
                    reason=event.reason,
                    edited=event.args is not UNSET,
                )


def resumed(turn: Turn, kept: Sequence[Stamped]) -> TurnState:
    """The state of a turn, rebuilt from its kept events. Of an erased one only the place counts."""
    shown = [entry.envelope.index + 1 for entry in kept if entry.envelope.index is not None]
    state = TurnState(turn, kept[0].envelope.agent, index=max(shown))
    for entry in kept:
        state.position = entry.position
        if not entry.erased:
            state.kept(entry.event, entry.envelope.agent, entry.envelope.internal)
    return state
