"""The trail of what auditors read, in memory."""

from collections.abc import Mapping

from turnlog.errors import NotFound
from turnlog.events.rows.record import Record
from turnlog.events.rows.seal import Seals
from turnlog.ports import AuditRead, Evidence, Session, Turn
from turnlog.projections import tables


class MemoryEvidence:
    """What an audit of a store in memory examines."""

    seals = Seals()
    _log: dict[str, list[Record]]
    _rows: tables.Rows
    _sessions: dict[str, Session]
    _turns: dict[str, Turn]

    async def session_ids(self) -> list[str]:
        return list(self._sessions)

    async def evidence(self, session_id: str) -> Evidence:
        session = self._sessions.get(session_id)
        if session is None:
            raise NotFound(f"There is no session {session_id!r}.")
        rows = {
            table: [row for row in self._rows[table].values() if row["session_id"] == session_id]
            for table in tables.STORED
        }
        turns = [turn for turn in self._turns.values() if turn.session_id == session_id]
        return Evidence(session, self._log.get(session_id, []), rows, turns)


class MemoryAudit:
    """An AuditTrail that is gone with its process: nobody can change it from outside."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions
        self._reads: list[AuditRead] = []

    async def add(self, read: AuditRead) -> None:
        self._reads.append(read)

    async def reads(self, *, session_id: str | None = None, limit: int = 100) -> list[AuditRead]:
        mine = [r for r in self._reads if session_id is None or r.session_id == session_id]
        return mine[::-1][:limit]

    async def sessions(
        self, *, user_id: str | None, search: str, limit: int, after: str | None
    ) -> list[Session]:
        newest = sorted(self._sessions.values(), key=_place, reverse=True)
        if after is not None:
            if after not in self._sessions:
                raise NotFound(f"There is no session {after!r}.")
            place = _place(self._sessions[after])
            newest = [session for session in newest if _place(session) < place]
        fitting = [
            session
            for session in newest
            if (user_id is None or session.user_id == user_id)
            and search.casefold() in session.title.casefold()
        ]
        return fitting[:limit]

    async def owner(self, session_id: str) -> str:
        if session_id not in self._sessions:
            raise NotFound(f"There is no session {session_id!r}.")
        return self._sessions[session_id].user_id

    async def flaws(self) -> list[str]:
        return []


def _place(session: Session) -> tuple[str, str]:
    return session.created_at, session.id
