"""The audit on a connection: the trail of reads, and rows that belong to nobody."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turnlog.events.rows.record import NO_SEAL
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead, Session
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL
from turnlog.stores.sql.tables import sessions

# Rows of these name a session, or a turn, that must be there.
OF_SESSIONS = (
    "events", "turns", "messages", "usage", "message_citations", "approvals", "tool_runs",
    "archives", "archiving",
)  # fmt: skip
OF_TURNS = ("drafts",)
TRAIL = "audit_reads"  # what is locked while the trail grows
Protections = Callable[[Connection], Iterator[str]]  # sentences about those that are missing


class SqlAudit:
    """An AuditTrail on any SQL database."""

    def __init__(
        self,
        look: OnConnection,
        change: OnConnection,
        seals: Callable[[], Seals],
        protections: Protections,
    ) -> None:
        self._look = look
        self._change = change
        self._seals = seals
        self._protections = protections

    async def add(self, read: AuditRead) -> None:
        await self._change(lambda db: add_read(db, read, self._seals()))

    async def reads(self, *, session_id: str | None = None, limit: int = 100) -> list[AuditRead]:
        values = {"session_id": session_id, "limit": limit}
        return await self._look(lambda db: _reads(db, values))

    async def trail(self) -> list[dict[str, Any]]:
        """All of it as it lies there, for a copy."""
        return await self._look(lambda db: [dict(row) for row in db.execute(SQL["list_all_reads"])])

    async def restore(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """The trail of another store, into one that has none."""
        await self._change(lambda db: [db.execute(SQL["add_read"], row) for row in rows])

    async def sessions(
        self, *, user_id: str | None, search: str, limit: int, after: str | None
    ) -> list[Session]:
        return await self._look(lambda db: sessions.audited(db, user_id, limit, after, search))

    async def owner(self, session_id: str) -> str:
        return (await self._look(lambda db: sessions.find(db, None, session_id))).user_id

    async def flaws(self) -> list[str]:
        return await self._look(lambda db: list(_flaws(db, self._seals(), self._protections)))


def add_read(db: Connection, read: AuditRead, seals: Seals) -> None:
    db.lock(TRAIL)
    last = db.execute(SQL["get_last_read"]).fetchone()
    number, before = (last[0] + 1, bytes(last[1])) if last else (0, NO_SEAL)
    values = msgspec.structs.asdict(read)
    seal = seals.mark([number, *values.values()], before)
    db.execute(SQL["add_read"], values | {"number": number, "seal": seal})


def _reads(db: Connection, values: Mapping[str, object]) -> list[AuditRead]:
    names = AuditRead.__struct_fields__
    rows = db.execute(SQL["list_reads"], values)
    return [AuditRead(**dict(zip(names, row, strict=True))) for row in rows]


def _flaws(db: Connection, seals: Seals, protections: Protections) -> Iterator[str]:
    for (name,) in db.execute(SQL["list_erasing"]):
        yield f"erasing: what the session {name!r} says is not protected"
    for table in OF_SESSIONS:
        for name, count in db.execute(SQL["count_strays"].format(table=table)):
            yield f"{table}: {count} rows of the session {name!r}, which is not there"
    for table in OF_TURNS:
        for name, count in db.execute(SQL["count_stray_parts"].format(table=table)):
            yield f"{table}: {count} rows of the turn {name!r}, which is not there"
    yield from _trail_flaws(db, seals)
    yield from protections(db)


def _trail_flaws(db: Connection, seals: Seals) -> Iterator[str]:
    before = NO_SEAL
    for wanted, (number, *values, seal) in enumerate(db.execute(SQL["list_all_reads"])):
        if number != wanted or not seals.has_mark(bytes(seal), [number, *values], before):
            yield f"audit_reads: number {wanted} is not what was written, or one before it is not"
        before = bytes(seal)
