"""Proof that a session is whole: every promise of the log, checked on what is stored.

It trusts nothing, not even the constraints of the database: each check reads the rows as
they lie there and says in words what is off.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from turnlog.errors import UnknownEvent
from turnlog.events import kinds as k
from turnlog.events import money
from turnlog.events.base import Stamped
from turnlog.events.content import hash_of, usage_of
from turnlog.events.grammar import GOES_ON, broken_rule, step
from turnlog.events.record import NO_SEAL, Record, is_sealed, stamped
from turnlog.events.usage import parts_of, searches_of
from turnlog.ports import OPEN, Evidence
from turnlog.projections import tables

Row = dict[str, Any]
BEGUN = ("in_doubt", "happened", "did_not_happen")  # of a call that surely has a row


@dataclass
class Proof:
    """What was found. `ok` means: nothing is off."""

    session_id: str
    first: int | None
    last: int | None
    count: int
    gaps: list[int] = field(default_factory=list)  # numbers that are missing, 1000 at most
    duplicates: list[str] = field(default_factory=list)  # numbers or event ids there twice
    unpaired_tools: list[str] = field(default_factory=list)
    orphan_approvals: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # rows that are not what was written
    disorder: list[str] = field(default_factory=list)  # turns whose events are out of order
    mismatches: list[str] = field(default_factory=list)  # tables that disagree with the log
    erased: list[int] = field(default_factory=list)  # numbers whose content was destroyed: no flaw

    @property
    def problems(self) -> list[str]:
        """Everything that is off, one sentence each."""
        return [
            *(f"gap: number {seq} is missing" for seq in self.gaps),
            *(f"duplicate: {what}" for what in self.duplicates),
            *(f"unpaired tool: {what}" for what in self.unpaired_tools),
            *(f"orphan approval: {what}" for what in self.orphan_approvals),
            *(f"changed: {what}" for what in self.changed),
            *(f"order: {what}" for what in self.disorder),
            *(f"table: {what}" for what in self.mismatches),
        ]

    @property
    def ok(self) -> bool:
        return not self.problems


def prove(evidence: Evidence) -> Proof:
    """Check everything stored about one session.

    Numbers and seals are proven of every row. Of a turn with an event whose content was erased
    nothing more can be proven, so what its events and its rows in tables say is left alone.
    """
    rows = evidence.log
    numbers = [row.seq for row in rows]
    erased = [row for row in rows if row.is_erased]
    hurt = {row.turn_id for row in erased}
    everything, unreadable = readable(row for row in rows if not row.is_erased)
    log = [entry for entry in everything if entry.turn_id not in hurt]
    whole = _without_turns(evidence, hurt)
    running = set(evidence.running)
    return Proof(
        session_id=evidence.session.id,
        first=min(numbers, default=None),
        last=max(numbers, default=None),
        count=len(rows),
        gaps=list(islice(_gaps(sorted(set(numbers))), 1000)),
        duplicates=list(_duplicates(rows, log)),
        unpaired_tools=list(_unpaired_tools(log, running)),
        orphan_approvals=list(_orphan_approvals(log, running)),
        changed=[*unreadable, *_changed(rows)],
        disorder=list(_disorder(log)),
        mismatches=[
            *_run_mismatches(whole, log),
            *_usage_mismatches(log),
            *_table_mismatches(whole, log),
            *_turn_mismatches(whole, log),
            *_session_mismatches(evidence, everything, {row.type for row in erased}),
        ],
        erased=[row.seq for row in erased],
    )


def _without_turns(evidence: Evidence, turn_ids: set[str]) -> Evidence:
    if not turn_ids:
        return evidence
    return evidence._replace(
        tables={
            table: [row for row in rows if row["turn_id"] not in turn_ids]
            for table, rows in evidence.tables.items()
        },
        turns=[turn for turn in evidence.turns if turn.id not in turn_ids],
    )


def readable(rows: Iterable[Record]) -> tuple[list[Stamped], list[str]]:
    """The events of the rows, and in words which rows hold none."""
    log, unreadable = [], []
    for row in rows:
        try:
            log.append(stamped(row))
        except (UnknownEvent, ValueError) as error:
            unreadable.append(f"number {row.seq} cannot be read: {error}")
    return log, unreadable


def _gaps(numbers: Iterable[int]) -> Iterator[int]:
    wanted = 0
    for number in numbers:
        yield from range(wanted, number)
        wanted = number + 1


def _duplicates(rows: Sequence[Record], log: Sequence[Stamped]) -> Iterator[str]:
    yield from (f"number {n}" for n, times in Counter(r.seq for r in rows).items() if times > 1)
    yield from (f"event {e}" for e, times in Counter(r.event_id for r in rows).items() if times > 1)
    results = Counter(
        entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolResult)
    )
    yield from (f"result of tool {tool}" for tool, times in results.items() if times > 1)


def _changed(rows: Sequence[Record]) -> Iterator[str]:
    seal = NO_SEAL
    for row in rows:
        if not is_sealed(row, seal):
            yield f"number {row.seq} is not what was written, or the row before it is not"
        seal = row.seal


def _unpaired_tools(log: Sequence[Stamped], running: set[str]) -> Iterator[str]:
    asked = {entry.event.tool_use_id: entry for entry in log if isinstance(entry.event, k.ToolUse)}
    answered = {entry.event.tool_use_id for entry in log if isinstance(entry.event, k.ToolResult)}
    for tool, entry in asked.items():
        if tool not in answered and entry.turn_id not in running:
            yield f"{tool} was asked for and has no result"
    yield from (f"{tool} has a result and was not asked for" for tool in answered - asked.keys())


def _orphan_approvals(log: Sequence[Stamped], running: set[str]) -> Iterator[str]:
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


def _run_mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    """A call that began was asked for, allowed with these arguments, and ended as the log says."""
    runs = _runs(evidence.session.user_id, log)
    found = {row["tool_use_id"]: row for row in evidence.tables["tool_runs"]}
    for tool, row in found.items():
        if tool not in runs:
            yield f"tool_runs {tool}: it began and was not asked for"
        elif runs[tool]["args_hash"] != row["args_hash"]:
            yield f"tool_runs {tool}: it began without being allowed"
        elif any(row[name] != value for name, value in runs[tool].items()):
            yield f"tool_runs {tool}: {_difference(runs[tool], row)}"
        if not _is_hashed(row):
            yield f"tool_runs {tool}: args not as they were hashed"
    begun = [tool for tool, run in runs.items() if run["status"] in BEGUN]
    yield from (f"tool_runs {tool}: the row is missing" for tool in begun if tool not in found)


def _runs(user_id: str, log: Sequence[Stamped]) -> dict[str, Row]:
    """By call: what its row must be, if it has one. Whether it wrote, the log does not say."""
    calls = {entry.event.tool_use_id: entry for entry in log if isinstance(entry.event, k.ToolUse)}
    results = {e.tool_use_id: e for entry in log if isinstance(e := entry.event, k.ToolResult)}
    settled = {e.tool_use_id: e for entry in log if isinstance(e := entry.event, k.ToolSettled)}
    allowed = _allowed_hashes(log)
    return {
        tool: {
            "user_id": user_id,
            "turn_id": entry.turn_id,
            "args_hash": allowed[tool],
            "status": _run_status(results.get(tool), settled.get(tool)),
            "decided_by": settled[tool].decided_by if tool in settled else None,
            "note": settled[tool].note if tool in settled else None,
        }
        for tool, entry in calls.items()
    }


def _is_hashed(row: Row) -> bool:
    try:
        return hash_of(msgspec.json.decode(row["args"])) == str(row["args_hash"])
    except (TypeError, ValueError):
        return False


def _allowed_hashes(log: Sequence[Stamped]) -> dict[str, str]:
    """By call: the hash of what may run, as it was asked for or as a person allowed it."""
    hashes = {
        e.tool_use_id: hash_of(e.args) for entry in log if isinstance(e := entry.event, k.ToolUse)
    }
    asked = {e.approval_id: e for entry in log if isinstance(e := entry.event, k.ApprovalRequested)}
    hashes |= {question.tool_use_id: "" for question in asked.values()}
    for entry in log:
        if (
            isinstance(e := entry.event, k.ApprovalResolved)
            and e.approved
            and e.approval_id in asked
        ):
            hashes[asked[e.approval_id].tool_use_id] = e.args_hash
    return hashes


def _run_status(result: k.ToolResult | None, settled: k.ToolSettled | None) -> str:
    if settled is not None:
        return "happened" if settled.happened else "did_not_happen"
    return "executing" if result is None else tables.run_status(result)


def _disorder(log: Sequence[Stamped]) -> Iterator[str]:
    turns: defaultdict[str, list[Stamped]] = defaultdict(list)
    for entry in log:
        if not entry.envelope.internal:
            turns[entry.turn_id].append(entry)
    for turn_id, events in turns.items():
        if rule := broken_rule(map(step, (entry.event for entry in events))):
            yield f"turn {turn_id}: {rule}"


def _usage_mismatches(log: Sequence[Stamped]) -> Iterator[str]:
    for entry in log:
        match entry.event:
            case k.Message(reported=reported, token_usage=used) if reported:
                if usage_of(reported) != used:
                    yield f"usage of {entry.event.message_id} is not what the model reported"
        if isinstance(entry.event, k.Message) and not _is_priced(entry.event):
            yield f"cost of {entry.event.message_id} is not the sum of its parts"


def _is_priced(message: k.Message) -> bool:
    """As a whole what its parts are. Before there were prices there was neither."""
    if not message.costs:
        return message.cost_usd is None
    parts = parts_of(message.model, message.reported)
    return len(message.costs) == len(parts) and money.total(message.costs) == message.cost_usd


def _table_mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    expected = tables.fold(evidence.session.user_id, log)
    for table, wanted in expected.items():
        keys = tables.KEYS[table]
        found = {tuple(row[key] for key in keys): row for row in evidence.tables[table]}
        for key in wanted.keys() | found.keys():
            if wanted.get(key) != found.get(key):
                what = _difference(wanted.get(key), found.get(key))
                yield f"{table} {'/'.join(map(str, key))}: {what}"


def _turn_mismatches(evidence: Evidence, log: Sequence[Stamped]) -> Iterator[str]:
    """A turn's row says where it began and how it ended; so does the log."""
    events: defaultdict[str, list[Stamped]] = defaultdict(list)
    for entry in log:
        events[entry.turn_id].append(entry)
    turns = {turn.id: turn for turn in evidence.turns}
    yield from (f"turns {turn_id}: the row is missing" for turn_id in events.keys() - turns.keys())
    for turn in evidence.turns:
        kept = events.get(turn.id)
        if not kept or kept[0].seq != turn.first_seq:
            yield f"turns {turn.id}: it does not begin at number {turn.first_seq}"
        elif turn.state not in OPEN and turn.state != _ended(kept):
            yield f"turns {turn.id}: it is {turn.state}, the log says {_ended(kept)}"


def _ended(kept: Sequence[Stamped]) -> str:
    match [entry.event for entry in kept if not entry.envelope.internal][-1]:
        case k.Error():
            return "failed"
        case k.Message(stop_reason=reason) if reason not in GOES_ON:
            return "done"
    return "unfinished"


def _session_mismatches(
    evidence: Evidence, log: Sequence[Stamped], erased: set[str]
) -> Iterator[str]:
    """`erased`: types of events of which some are gone, so that nothing can be counted."""
    moves = [entry.event.anchor for entry in log if isinstance(entry.event, k.HistoryAnchored)]
    anchor = moves[-1] if moves else 0
    if "history_anchored" not in erased and anchor != evidence.session.anchor:
        yield f"sessions {evidence.session.id}: anchor not as the log has it"
    made = sum(
        searches_of(entry.event.reported) for entry in log if isinstance(entry.event, k.Message)
    )
    if "message" not in erased and made != evidence.session.searches:
        yield f"sessions {evidence.session.id}: searches not as the log has them"


def _difference(wanted: Row | None, found: Row | None) -> str:
    if found is None:
        return "the row is missing"
    if wanted is None:
        return "no event wrote this row"
    names = [name for name in wanted if wanted[name] != found.get(name)]
    return f"{', '.join(names)} not as the log has it"
