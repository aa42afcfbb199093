"""Which MCP sessions each user has open, so that one user cannot use up the server's.

Few clients end their sessions. The one that was quiet for longest makes room for a new one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from turnlog.errors import TooMany

MOST = 50  # of one user


@dataclass
class OpenSession:
    """One that a user opened, or is opening."""

    user_id: str
    room: str  # of its events; nobody else knows it
    id: str | None = None
    requests: int = 0  # that are being answered
    last: float = 0.0


class OpenSessions:
    """Counts by what passes the door: a session lives while it is used, and a while longer."""

    def __init__(self, idle: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle = idle
        self._clock = clock
        self._sessions: dict[str, OpenSession] = {}

    @contextmanager
    def request(self, user_id: str, session_id: str | None) -> Iterator[OpenSession]:
        """While a request is answered: its session. The door says if it was opened or ended."""
        known = self._sessions.get(session_id or "")
        if known is None or known.user_id != user_id:
            known = OpenSession(user_id, uuid4().hex)
        known.requests += 1
        try:
            yield known
        finally:
            known.requests -= 1
            known.last = self._clock()

    def opened(self, session: OpenSession, session_id: str) -> None:
        if session.id is None and session_id not in self._sessions:
            session.id = session_id
            self._sessions[session_id] = session

    def ended(self, session: OpenSession) -> None:
        self._sessions.pop(session.id or "", None)

    def surplus(self, user_id: str) -> str | None:
        """The session that must end before this user opens another, if any.

        Raises TooMany where all of them are in use.
        """
        oldest = self._clock() - self._idle
        self._sessions = {
            name: session
            for name, session in self._sessions.items()
            if session.requests or session.last > oldest
        }
        mine = [session for session in self._sessions.values() if session.user_id == user_id]
        if len(mine) < MOST:
            return None
        quiet = [session for session in mine if not session.requests]
        if not quiet:
            raise TooMany(f"You use {MOST} MCP sessions at once. End one with DELETE.", 60)
        return min(quiet, key=lambda session: session.last).id
