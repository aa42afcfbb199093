"""Proof that a session is whole: every promise of the log, checked on what is stored.

It trusts nothing, not even the constraints of the database: each check reads the rows as
they lie there and says in words what is off. It works on the Evidence that any store gives.
"""

from dataclasses import dataclass, field
from itertools import islice

from turnlog.events.rows.seal import Seals
from turnlog.ports import Evidence
from turnlog.projections.proof import chain, pairs, rows, runs
from turnlog.projections.proof.chain import readable


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


def prove(evidence: Evidence, seals: Seals | None = None) -> Proof:
    """Check everything stored about one session.

    Numbers and seals are proven of every row. Of a turn with an event whose content was erased
    nothing more can be proven, so what its events and its rows in tables say is left alone.
    """
    stored, owner = evidence.log, evidence.session.user_id
    numbers = [row.seq for row in stored if type(row.seq) is int]  # somebody may have changed it
    erased = [row for row in stored if row.is_erased]
    hurt = {row.turn_id for row in erased}
    everything, unreadable = readable(row for row in stored if not row.is_erased)
    log = [entry for entry in everything if entry.turn_id not in hurt]
    whole = _without_turns(evidence, hurt)
    running = set(evidence.running)
    return Proof(
        session_id=evidence.session.id,
        first=min(numbers, default=None),
        last=max(numbers, default=None),
        count=len(stored),
        gaps=list(islice(chain.gaps(sorted(set(numbers))), 1000)),
        duplicates=list(chain.duplicates(stored, log)),
        unpaired_tools=list(pairs.unpaired_tools(log, running)),
        orphan_approvals=[
            *pairs.orphan_approvals(log, running),
            *pairs.wrong_deciders(log, owner),
        ],
        changed=[*unreadable, *chain.changed(stored, owner, seals or Seals())],
        disorder=list(pairs.disorder(log)),
        mismatches=[
            *runs.mismatches(whole, log),
            *pairs.usage_mismatches(log),
            *rows.table_mismatches(whole, log),
            *rows.turn_mismatches(whole, log),
            *rows.session_mismatches(evidence, everything, {row.type for row in erased}),
        ],
        erased=[row.seq for row in erased if not row.is_archived],
    )


def _without_turns(evidence: Evidence, turn_ids: set[str]) -> Evidence:
    if not turn_ids:
        return evidence
    return evidence._replace(
        tables={
            table: [row for row in found if row["turn_id"] not in turn_ids]
            for table, found in evidence.tables.items()
        },
        turns=[turn for turn in evidence.turns if turn.id not in turn_ids],
    )
