"""Everything in dictionaries: for tests and for trying things out. Forgets when it ends.

It fits the same contract as the others, so that what passes here passes there.
"""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from turnlog.errors import (
    AlreadyAsked,
    AlreadyBegun,
    AlreadyDecided,
    MessageIdTaken,
    NotFound,
)
from turnlog.events.base import Envelope, Stamped
from turnlog.events.clock import now
from turnlog.events.kinds import Complete
from turnlog.events.rows.erasure import shown, what_is_left
from turnlog.events.rows.record import ERASED, NO_SEAL, BareRecord, Record, records, stamped
from turnlog.ports import (
    OPEN,
    Approval,
    Charge,
    Excerpt,
    Session,
    Spent,
    ToolRun,
    ToolStarted,
    Turn,
    User,
)
from turnlog.projections import approvals as permits
from turnlog.projections import tables
from turnlog.stores.leases import NO_LEASE, lease_lost, leased
from turnlog.stores.memory import approvals, billing
from turnlog.stores.memory.attached import AttachedFiles
from turnlog.stores.memory.audit import MemoryAudit, MemoryEvidence
from turnlog.stores.memory.citations import MemoryCitations
from turnlog.stores.memory.deposits import MemoryDeposits
from turnlog.stores.memory.line import MemoryLine
from turnlog.stores.memory.lists import MemoryLists
from turnlog.stores.memory.outbox import MemoryOutbox
from turnlog.stores.memory.tickets import MemoryTickets


class MemoryStore(MemoryLists, MemoryTickets, MemoryCitations, MemoryEvidence):
    """A Store without a disk. A process that "dies" leaves its owner name behind."""

    def __init__(self, owner: str = "memory", beside: "MemoryStore | None" = None) -> None:
        """`beside`: share the contents of another one, as a second process would."""
        self._owner = owner
        self._log: dict[str, list[Record]] = beside._log if beside else {}
        self._sessions: dict[str, Session] = beside._sessions if beside else {}
        self._turns: dict[str, Turn] = beside._turns if beside else {}
        self.audit: MemoryAudit = beside.audit if beside else MemoryAudit(self._sessions)
        self._owners: dict[str, str] = beside._owners if beside else {}
        self._leases: dict[str, str] = beside._leases if beside else {}  # of running turns
        self._alive: set[str] = beside._alive if beside else set()
        self._tickets = beside._tickets if beside else {}
        empty: tables.Rows = {table: {} for table in tables.STORED}
        self._rows: tables.Rows = beside._rows if beside else empty
        self.outbox: MemoryOutbox = beside.outbox if beside else MemoryOutbox()
        self.line: MemoryLine = beside.line if beside else MemoryLine(self._turns, self.get_session)
        self.files: AttachedFiles = beside.files if beside else AttachedFiles()
        self.deposits: MemoryDeposits = beside.deposits if beside else MemoryDeposits(self.files)

    @property
    def url(self) -> str:
        return "memory:"

    async def open(self, *, server: str | None = None) -> None:
        self._alive.add(self._owner)

    async def close(self) -> None:
        self._alive.discard(self._owner)

    # the log

    async def append(
        self, turn: Turn, events: Sequence[Envelope], complete: Complete | None = None
    ) -> int:
        self._held(turn)
        first = await self.annotate(turn, events)
        if complete is not None:
            await self.finish_turn(turn, complete)
        return first

    def _held(self, turn: Turn) -> Turn:
        """The turn as it is stored. Raises TurnOver where the lease does not hold any more."""
        if turn.lease == NO_LEASE or self._leases.get(turn.id) != turn.lease:
            raise lease_lost(turn)
        return self._turns[turn.id]

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[BareRecord]:
        await self.get_session(user_id, session_id)
        return [row.bare for row in self._log.get(session_id, [])[:before][-limit:]]

    async def last_number(self, user_id: str, session_id: str) -> int:
        await self.get_session(user_id, session_id)
        return len(self._log.get(session_id, [])) - 1

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        await self.get_session(user_id, session_id)
        stop = None if limit is None else after + 1 + limit
        return [shown(row) for row in self._log.get(session_id, [])[after + 1 : stop]]

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        await self.get_session(user_id, session_id)
        log = self._log.get(session_id, [])
        if not log[after + 1 :]:
            return Excerpt([])
        emptied = [row.body for row in log[anchor:]].count(ERASED)
        before = log[after].event_id if after >= 0 else ""
        return Excerpt(what_is_left(log[after + 1 :]), emptied, before)

    async def annotate(self, turn: Turn, events: Sequence[Envelope]) -> int:
        log = self._log.setdefault(turn.session_id, [])
        seal = log[-1].seal if log else NO_SEAL
        seals = self.seals.of(turn.user_id)
        rows = records(turn.session_id, turn.id, events, len(log), seal, seals)
        writes = [w for row in rows for w in tables.writes(turn.user_id, stamped(row))]
        self._refuse_taken_ids(writes)
        self._refuse_late(writes)
        first = len(log)
        log.extend(rows)
        for write in writes:
            self._apply(write)
        self.outbox.tell(turn, rows)
        return first

    def _refuse_taken_ids(self, writes: list[tables.Write]) -> None:
        ids = [w.key for w in writes if w.table == "messages"]
        taken = [key for key in ids if key in self._rows["messages"]]
        if taken or len(set(ids)) < len(ids):
            raise MessageIdTaken(f"message id {(taken or ids)[0][0]!r} is taken")

    def _refuse_late(self, writes: list[tables.Write]) -> None:
        became: dict[tuple[str, tuple[Any, ...]], str | None] = {}  # by the writes before it
        for write in writes:
            place = (write.table, write.key)
            row = self._rows.get(write.table, {}).get(write.key, {})
            status = became.get(place, row.get("status"))
            if write.only_while not in (None, status):
                raise AlreadyDecided(f"This is {status or 'unknown'} already.")
            became[place] = write.values.get("status", status)

    def _apply(self, write: tables.Write) -> None:
        changes: dict[str, Any] = {n: v for n, v in write.values.items() if n != "id"}
        if write.table == "sessions":
            session = self._sessions[write.values["id"]]
            changes |= {name: getattr(session, name) + changes[name] for name in write.added}
            self._sessions[session.id] = msgspec.structs.replace(session, **changes)
        elif write.table == "turns":
            turn = self._turns[write.values["id"]]
            self._set_state(turn, state=changes["state"])
        else:
            tables.apply(self._rows, write)

    async def recall(self, session_id: str, seq: int) -> Stamped:
        return shown(self._log[session_id][seq])

    async def has_message(self, message_id: str) -> bool:
        return (message_id,) in self._rows["messages"]

    # sessions

    async def create_session(self, session: Session) -> None:
        self._sessions[session.id] = session

    async def get_session(self, user_id: str, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None or session.user_id != user_id:
            raise NotFound(f"There is no session {session_id!r}.")
        return self._seen(session)

    def _seen(self, session: Session) -> Session:
        """With what its turns and its log say."""
        turn = next((t for t in self._turns.values() if _is_open_in(session, t)), None)
        log = self._log.get(session.id)
        return msgspec.structs.replace(
            session,
            state=turn.state if turn else "idle",
            turn_id=turn.id if turn else None,
            last_activity_at=log[-1].at if log else "",
        )

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        await self.get_session(user_id, session_id)
        session = self._sessions[session_id]
        self._sessions[session_id] = msgspec.structs.replace(session, **changes)
        return self._seen(self._sessions[session_id])

    # turns

    async def begin_turn(self, turn: Turn, first: Sequence[Envelope], title: str = "") -> Turn:
        session = await self.get_session(turn.user_id, turn.session_id)
        for other in self._turns.values():
            if other.session_id != turn.session_id:
                continue
            if other.id == turn.id or other.request_id == turn.request_id is not None:
                raise AlreadyAsked(other.id, state=other.state, first_seq=other.first_seq)
        self.line.admit(turn)
        begun = msgspec.structs.replace(turn, first_seq=len(self._log.get(turn.session_id, [])))
        await self.annotate(begun, first)
        if title and not session.title:
            await self.update_session(turn.user_id, turn.session_id, title=title)
        return self._take(begun)

    def _take(self, turn: Turn) -> Turn:
        """This process works on the turn from now on."""
        taken = leased(turn)
        self._turns[turn.id] = msgspec.structs.replace(taken, lease=NO_LEASE)
        self._leases[turn.id] = taken.lease
        self._owners[turn.id] = self._owner
        return taken

    def _set_state(self, turn: Turn, **changes: Any) -> None:
        changed = self._turns[turn.id] = msgspec.structs.replace(turn, **changes)
        if changed.state != "running":
            self._turns[turn.id] = msgspec.structs.replace(changed, draft=None)
            self._leases.pop(turn.id, None)

    async def add_draft(self, turn: Turn, piece: bytes) -> None:
        held = self._held(turn)
        self._set_state(held, draft=piece if held.draft is None else held.draft + b"\n" + piece)

    async def finish_turn(self, turn: Turn, complete: Complete | None = None) -> None:
        self._set_state(self._held(turn), state="done")
        self.outbox.tell_end(turn, complete)

    async def suspend_turn(self, turn: Turn) -> None:
        self._set_state(self._held(turn), state="waiting")

    async def start_tools(self, turn: Turn, starting: Sequence[ToolStarted]) -> None:
        self._held(turn)
        writes = [tables.Write("tool_runs", tables.tool_run(turn, s, now())) for s in starting]
        for write in writes:
            if write.key in self._rows["tool_runs"]:
                raise AlreadyBegun(write.values["tool_use_id"])
        for write in writes:
            tables.apply(self._rows, write)

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        await self.get_session(user_id, session_id)
        turns = [turn for turn in self._turns.values() if turn.session_id == session_id]
        return max(turns, key=lambda turn: turn.first_seq, default=None)

    async def find_turn(self, user_id: str, session_id: str, turn_id: str) -> Turn | None:
        await self.get_session(user_id, session_id)
        turn = self._turns.get(turn_id)
        return turn if turn is not None and turn.session_id == session_id else None

    async def started_tools(self, turn: Turn) -> set[str]:
        mine = (turn.session_id, turn.id, "executing")
        rows = self._rows["tool_runs"].values()
        names = ("session_id", "turn_id", "status")
        return {r["tool_use_id"] for r in rows if tuple(r[name] for name in names) == mine}

    async def claim_waiting(
        self, user_id: str, session_id: str, turn_id: str | None = None
    ) -> Turn | None:
        await self.get_session(user_id, session_id)
        for turn in self._turns.values():
            if (turn.session_id, turn.state) == (session_id, "waiting"):
                return self._take(turn) if turn_id in (None, turn.id) else None
        return None

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        others = self._alive - {self._owner}
        dead = [
            turn
            for turn in self._turns.values()
            if turn.state == "running"
            and session_id in (None, turn.session_id)
            and turn.id not in working_on
            and self._owners[turn.id] not in others
        ]
        return [self._take(turn) for turn in dead]

    # what people must decide

    async def get_approval(self, user_id: str, approval_id: str) -> Approval:
        return approvals.one(self._rows["approvals"].get((approval_id,)), user_id, approval_id)

    async def list_approvals(
        self, user_id: str, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return approvals.of_user(self._rows["approvals"].values(), user_id, status, limit)

    async def approvals_of_calls(
        self, user_id: str, tool_use_ids: Collection[str]
    ) -> list[Approval]:
        return approvals.of_calls(self._rows["approvals"].values(), user_id, tool_use_ids)

    async def approval_to_decide(self, user: User, approval_id: str) -> Approval:
        return permits.for_decider(self._rows["approvals"].get((approval_id,)), user, approval_id)

    async def approvals_to_decide(
        self, user: User, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return approvals.to_decide(self._rows["approvals"].values(), user, status, limit)

    async def due_approvals(self, now: str) -> list[tuple[str, Approval]]:
        return approvals.due(self._rows["approvals"].values(), now)

    async def next_expiry(self) -> str | None:
        return approvals.next_expiry(self._rows["approvals"].values())

    async def list_doubts(self, user_id: str) -> list[ToolRun]:
        return approvals.doubts(self._rows["tool_runs"].values(), user_id)

    # bills and budgets

    async def charges(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> Sequence[Charge]:
        return billing.charges(self._rows["usage"].values(), user_id, session_id, start, end)

    async def spent(
        self, user_id: str, *, agent_id: str | None = None, **bounds: str | None
    ) -> Spent:
        charges = await self.charges(user_id=user_id, **bounds)
        return billing.spent(each for each in charges if agent_id in (None, each.agent_id))

    async def count_messages(self, user_id: str, session_id: str) -> int:
        await self.get_session(user_id, session_id)
        rows = self._rows["messages"].values()
        return sum(row["session_id"] == session_id and not row["is_internal"] for row in rows)


def _is_open_in(session: Session, turn: Turn) -> bool:
    return turn.session_id == session.id and turn.state in OPEN
