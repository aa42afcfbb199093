"""A Store on any SQL database: what it does is here, how it is carried out is the database's.

Each method gives a step to `_look` or `_change`: a function of a connection.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from turnlog.events.base import Envelope
from turnlog.events.kinds import Complete
from turnlog.events.rows.seal import Seals
from turnlog.ports import (
    SILENT,
    Approval,
    Charge,
    Evidence,
    Session,
    Spent,
    Ticket,
    ToolRun,
    ToolStarted,
    Turn,
    User,
)
from turnlog.stores.sql import copying, erasing
from turnlog.stores.sql.archives import SqlArchives
from turnlog.stores.sql.audit import SqlAudit
from turnlog.stores.sql.connection import Connection
from turnlog.stores.sql.reading import SqlReading
from turnlog.stores.sql.tables import approvals as permits
from turnlog.stores.sql.tables import billing, citations, log, sessions, tickets, turns
from turnlog.stores.sql.tables.attached import AttachedFiles
from turnlog.stores.sql.tables.deposits import SqlDeposits
from turnlog.stores.sql.tables.line import SqlLine
from turnlog.stores.sql.tables.outbox import SqlOutbox

T = TypeVar("T")


class SqlStore(SqlReading):
    """What SQLite's store and PostgreSQL's have in common."""

    @cached_property
    def files(self) -> AttachedFiles:
        return AttachedFiles(self._look, self._change)

    @cached_property
    def deposits(self) -> SqlDeposits:
        return SqlDeposits(self._look, self._change)

    @cached_property
    def audit(self) -> SqlAudit:
        return SqlAudit(self._look, self._change, lambda: self.seals, self._protections)

    def _protections(self, db: Connection) -> Iterator[str]:
        """What is missing of that which protects the log in the database, in sentences."""
        raise NotImplementedError

    @cached_property
    def archives(self) -> SqlArchives:
        return SqlArchives(self._look, self._change, lambda: self.seals, self._me, self._works)

    @cached_property
    def outbox(self) -> SqlOutbox:
        return SqlOutbox(self._look, self._change)

    @cached_property
    def line(self) -> SqlLine:
        return SqlLine(self._look, self._change)

    seals = Seals()  # an app with a key has others
    _me: str  # the name of this process, as an owner of turns

    def _change(self, work: Callable[[Connection], T]) -> Awaitable[T]:
        """Carry out a step as one transaction, and answer when it is on disk."""
        raise NotImplementedError

    def _change_turn(self, turn: Turn, work: Callable[[Connection], T]) -> Awaitable[T]:
        """The same for a step that changes one turn and what its session says."""
        return self._change(work)

    def _works(self, db: Connection, owners: Collection[str]) -> Collection[str]:
        """Those of the owners that live."""
        raise NotImplementedError

    def _abandoned(
        self, db: Connection, session_id: str | None, working_on: Collection[str]
    ) -> list[Turn]:
        owned = turns.running(db, session_id, working_on)
        others = {owner for owner, _ in owned} - {self._me}
        living = self._works(db, others) if others else ()
        return [turn for owner, turn in owned if owner not in living]

    # the log

    def append(
        self, turn: Turn, events: Sequence[Envelope], complete: Complete | None = None
    ) -> Awaitable[int]:
        announcer, notices = self.outbox.announcer, self.outbox.notices_of_end(turn, complete)

        def write(db: Connection) -> int:
            first = log.append(db, turn, events, self.seals, announcer)
            if complete is not None:
                turns.close(db, turn, notices)
            return first

        return self._told(self._change_turn(turn, write), events, complete)

    async def annotate(self, turn: Turn, events: Sequence[Envelope]) -> int:
        announcer = self.outbox.announcer
        writing = self._change_turn(
            turn, lambda db: log.annotate(db, turn, events, self.seals, announcer)
        )
        return await self._told(writing, events)

    def _told(
        self, writing: Awaitable[T], events: Sequence[Envelope], complete: Complete | None = None
    ) -> Awaitable[T]:
        """And then, that there may be notices to send."""
        if self.outbox.announcer is SILENT:
            return writing
        written = [each.event for each in events] + ([complete] if complete else [])
        speaks = any(map(self.outbox.announcer.speaks_of, written))
        return self._telling(writing) if speaks else writing

    async def _telling(self, writing: Awaitable[T]) -> T:
        result = await writing
        self.outbox.on_written()
        return result

    async def citations_of_message(self, user_id: str, message_id: str) -> list[dict[str, Any]]:
        return await self._look(lambda db: citations.of_message(db, user_id, message_id))

    async def citations_of_session(
        self, user_id: str, session_id: str, *, limit: int, after: int = -1
    ) -> list[dict[str, Any]]:
        return await self._look(
            lambda db: citations.of_session(db, user_id, session_id, limit, after)
        )

    async def erase(self, session_id: str, by: str) -> int:
        """Destroy what the session says; of how many events. See `erasing`.

        The files of its archives go last. Where one cannot be removed now, this can be done again.
        """
        erased = await self._change(lambda db: erasing.erase(db, session_id, by, self.seals))
        await self.archives.sweep()
        return erased

    # sessions

    async def create_session(self, session: Session) -> None:
        await self._change(lambda db: sessions.create(db, session))

    async def get_session(self, user_id: str, session_id: str) -> Session:
        return await self._look(lambda db: sessions.find(db, user_id, session_id))

    async def list_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        after: str | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        said = await self.archives.said(user_id, archived, search)
        asked = (user_id, limit, after, archived, search, said)
        return await self._look(lambda db: sessions.page(db, *asked))

    async def list_active_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        below: tuple[str, str] | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        said = await self.archives.said(user_id, archived, search)
        asked = (user_id, limit, below, archived, search, said)
        return await self._look(lambda db: sessions.active(db, *asked))

    async def reaches_all(self, user_id: str, *, archived: bool = False) -> bool:
        return await self._look(lambda db: sessions.reaches_all(db, user_id, archived))

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        return await self._change(lambda db: sessions.change(db, user_id, session_id, changes))

    # tickets

    async def issue_ticket(self, ticket: Ticket, *, at_once: int) -> None:
        await self._change(lambda db: tickets.issue(db, ticket, at_once))

    async def take_ticket(self, digest: str) -> Ticket | None:
        return await self._change(lambda db: tickets.take(db, digest))

    # turns

    def begin_turn(self, turn: Turn, first: Sequence[Envelope], title: str = "") -> Awaitable[Turn]:
        me = self._me
        return self._change(lambda db: log.begin_turn(db, turn, first, title, me, self.seals))

    async def add_draft(self, turn: Turn, piece: bytes) -> None:
        await self._change_turn(turn, lambda db: turns.add_draft(db, turn, piece))

    async def finish_turn(self, turn: Turn, complete: Complete | None = None) -> None:
        notices = self.outbox.notices_of_end(turn, complete)
        await self._change_turn(turn, lambda db: turns.finish(db, turn, notices))
        if notices:
            self.outbox.on_written()

    async def suspend_turn(self, turn: Turn) -> None:
        await self._change_turn(turn, lambda db: turns.let_go(db, turn, "waiting"))

    def start_tools(self, turn: Turn, starting: Sequence[ToolStarted]) -> Awaitable[None]:
        return self._change_turn(turn, lambda db: turns.start_tools(db, turn, starting))

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        return await self._look(lambda db: turns.newest(db, user_id, session_id))

    async def find_turn(self, user_id: str, session_id: str, turn_id: str) -> Turn | None:
        return await self._look(lambda db: turns.one(db, user_id, session_id, turn_id))

    async def started_tools(self, turn: Turn) -> set[str]:
        return await self._look(lambda db: turns.started_tools(db, turn))

    async def claim_waiting(
        self, user_id: str, session_id: str, turn_id: str | None = None
    ) -> Turn | None:
        me = self._me
        return await self._change(
            lambda db: turns.claim_waiting(db, user_id, session_id, turn_id, me)
        )

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        """Looked for without a write, because it is often asked and there is seldom one."""
        abandoned = partial(self._abandoned, working_on=working_on)
        found = await self._look(lambda db: abandoned(db, session_id))
        taken: list[Turn] = []
        for place in sorted({turn.session_id for turn in found}):
            claim = partial(turns.claim, session_id=place, abandoned=abandoned, owner=self._me)
            taken += await self._change(claim)
        return taken

    # what people must decide

    async def get_approval(self, user_id: str, approval_id: str) -> Approval:
        return await self._look(lambda db: permits.approval(db, user_id, approval_id))

    async def list_approvals(
        self, user_id: str, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return await self._look(lambda db: permits.approvals(db, user_id, status, limit))

    async def approvals_of_calls(
        self, user_id: str, tool_use_ids: Collection[str]
    ) -> list[Approval]:
        return await self._look(lambda db: permits.of_calls(db, user_id, [*{*tool_use_ids}]))

    async def approval_to_decide(self, user: User, approval_id: str) -> Approval:
        return await self._look(lambda db: permits.to_decide(db, user, approval_id))

    async def approvals_to_decide(
        self, user: User, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        return await self._look(lambda db: permits.all_to_decide(db, user, status, limit))

    async def due_approvals(self, now: str) -> list[tuple[str, Approval]]:
        return await self._look(lambda db: permits.due(db, now))

    async def next_expiry(self) -> str | None:
        return await self._look(permits.next_expiry)

    async def list_doubts(self, user_id: str) -> list[ToolRun]:
        return await self._look(lambda db: permits.doubts(db, user_id))

    # the audit

    async def session_ids(self) -> list[str]:
        return await self._look(sessions.every_id)

    async def restore(self, evidence: Evidence) -> None:
        """Write a session as another store had it, into a store that has no such session."""
        await self._change(lambda db: copying.restore(db, evidence))

    async def copy_beside(self, source: "SqlStore") -> None:
        """What waits in another store: questions in line, notices, deposits."""
        rows = await source._look(copying.beside)
        await self._change(lambda db: copying.restore_beside(db, rows))

    async def evidence(self, session_id: str) -> Evidence:
        """Where an archive is not there, its rows stay without bodies: the proof names them."""
        for _ in range(2):
            found = await self._look(lambda db: log.evidence(db, session_id))
            if not any(row.is_archived for row in found.log):
                return found
            whole = found._replace(log=await self.archives.filled(found.log))
            if not any(row.is_archived for row in whole.log):
                return whole
        return whole

    # bills and budgets

    async def charges(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> Sequence[Charge]:
        bounds = {"user_id": user_id, "session_id": session_id, "start": start, "end": end}
        return await self._look(lambda db: billing.charges(db, **bounds))

    async def spent(
        self,
        user_id: str,
        *,
        session_id: str | None = None,
        start: str | None = None,
        agent_id: str | None = None,
    ) -> Spent:
        bounds = {"user_id": user_id, "session_id": session_id, "start": start}
        bounds["agent_id"] = agent_id
        return await self._look(lambda db: billing.spent(db, **bounds))

    async def count_messages(self, user_id: str, session_id: str) -> int:
        await self.get_session(user_id, session_id)
        return await self._look(lambda db: billing.count_messages(db, session_id))
