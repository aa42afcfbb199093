"""Pairs and order: calls and their results, questions and their decisions, turns."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Stamped
from turnlog.events.content import usage_of
from turnlog.events.grammar import broken_rule, step
from turnlog.events.usage import parts_of


def unpaired_tools(log: Sequence[Stamped], running: set[str]) -> Iterator[str]:
    calls = {entry.event.tool_use_id: entry for entry in log if isinstance(entry.event, k.ToolUse)}
    answered = {entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolResult)}
    for tool, entry in calls.items():
        if tool not in answered and entry.turn_id not in running:
            yield f"{tool} was asked for and has no result"
    yield from (f"{tool} has a result and was not asked for" for tool in answered - calls.keys())


def orphan_approvals(log: Sequence[Stamped], running: set[str]) -> Iterator[str]:
    tools = {entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolUse)}
    decided = Counter(
        entry.event.approval_id for entry in log if isinstance(entry.event, k.ApprovalResolved)
    )
    asked = set()
    for entry in log:
        if isinstance(question := entry.event, k.ApprovalRequested):
            asked.add(question.approval_id)
            if question.tool_use_id not in tools:
                yield f"{question.approval_id} is for no tool call"
            if question.approval_id not in decided and entry.turn_id not in running:
                yield f"{question.approval_id} is open, and its turn is over"
    yield from (f"{a} was decided and never asked for" for a in decided.keys() - asked)
    yield from (f"{a} was decided {times} times" for a, times in decided.items() if times > 1)


def wrong_deciders(log: Sequence[Stamped], owner: str) -> Iterator[str]:
    """Decisions of people who may not. Which roles somebody had, the log does not say."""
    rules = {
        entry.event.approval_id: entry.event.may_decide
        for entry in log
        if isinstance(entry.event, k.ApprovalRequested)
    }
    for entry in log:
        match entry.event:
            case k.ApprovalResolved(approval_id=name, decided_by=who, outcome=outcome):
                kind = rules.get(name, "").partition(":")[0]
                wrong = {"asker": who != owner, "others": who == owner}.get(kind, False)
                if outcome in ("approved", "rejected") and wrong:
                    yield f"{name} was decided by {who!r}, who may not: it is for {rules[name]!r}"


def disorder(log: Sequence[Stamped]) -> Iterator[str]:
    turns: defaultdict[str, list[Stamped]] = defaultdict(list)
    for entry in log:
        if not entry.envelope.internal:
            turns[entry.turn_id].append(entry)
    for turn_id, events in turns.items():
        if rule := broken_rule(map(step, (entry.event for entry in events))):
            yield f"turn {turn_id}: {rule}"


def usage_mismatches(log: Sequence[Stamped]) -> Iterator[str]:
    for entry in log:
        match entry.event:
            case k.Message() | k.HistorySummarized() as call:
                if call.reported and usage_of(call.reported) != call.token_usage:
                    yield f"usage of {call.message_id} is not what the model reported"
                if not _is_priced(call):
                    yield f"cost of {call.message_id} is not the sum of its parts"


def _is_priced(message: k.Message | k.HistorySummarized) -> bool:
    """As a whole what its parts are. Before there were prices there was neither."""
    if not message.costs:
        return message.cost_usd is None
    parts = parts_of(message.model, message.reported)
    return len(message.costs) == len(parts) and money.total(message.costs) == message.cost_usd
