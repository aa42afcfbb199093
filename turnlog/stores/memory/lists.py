"""Pages of a user's sessions, in memory."""

from turnlog.errors import NotFound
from turnlog.events.rows.record import Record
from turnlog.ports import Session
from turnlog.stores import texts


class MemoryLists:
    """Lists of what a store in memory has."""

    _log: dict[str, list[Record]]
    _sessions: dict[str, Session]

    def _seen(self, session: Session) -> Session:
        raise NotImplementedError

    async def list_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        after: str | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        mine = self._fitting(user_id, archived, search)
        if after is not None:
            last = self._sessions.get(after)
            if last is None or last.user_id != user_id:
                raise NotFound(f"There is no session {after!r}.")
            mine = [s for s in mine if _created(s) < _created(last)]
        return [self._seen(s) for s in mine[:limit]]

    async def list_active_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        below: tuple[str, str] | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        mine = [self._seen(s) for s in self._fitting(user_id, archived, search)]
        mine.sort(key=_active, reverse=True)
        return [s for s in mine if below is None or _active(s) < below][:limit]

    async def reaches_all(self, user_id: str, *, archived: bool = False) -> bool:
        logs = [self._log.get(s.id, []) for s in self._fitting(user_id, archived, "")]
        said = [row for log in logs for row in log if texts.is_said(row)]
        return len(list(texts.newest(logs))) == len(said)

    def _fitting(self, user_id: str, archived: bool, search: str) -> list[Session]:
        """Newest first."""
        wanted = (user_id, archived)
        mine = [s for s in self._sessions.values() if (s.user_id, s.archived) == wanted]
        mine.sort(key=_created, reverse=True)
        if not search:
            return mine
        said = texts.sessions_with(search, texts.newest(self._log.get(s.id, []) for s in mine))
        return [s for s in mine if s.id in said or search.casefold() in s.title.casefold()]


def _created(session: Session) -> tuple[str, str]:
    return session.created_at, session.id


def _active(session: Session) -> tuple[str, str]:
    return session.active_at, session.id
