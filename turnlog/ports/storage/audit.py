"""For auditors: everybody's sessions, a trail of what they read, and what is off as a whole."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from turnlog.events.base import Value
from turnlog.events.rows.record import Record
from turnlog.ports.storage.sessions import Session
from turnlog.ports.storage.turns import OPEN, Turn


class Evidence(NamedTuple):
    """Everything stored about a session, as it lies there: what `turnlog verify` examines."""

    session: Session
    log: list[Record]
    tables: dict[str, list[dict[str, Any]]]
    turns: list[Turn]

    @property
    def running(self) -> list[str]:
        """Ids of the turns that are not over."""
        return [turn.id for turn in self.turns if turn.state in OPEN]


class Audit(Protocol):
    """For those who may see everything: the command line and the admin."""

    async def session_ids(self) -> list[str]: ...

    async def evidence(self, session_id: str) -> Evidence: ...


class AuditRead(Value, frozen=True, kw_only=True):
    """An auditor read what is somebody else's."""

    at: str
    auditor: str
    session_id: str  # "": the list of all sessions
    what: str


class AuditTrail(Protocol):
    """What was read by auditors, and what auditors need to see.

    Promises: a read that was added is there for good, after those before it, sealed onto them. No
    session's log changes by it.
    """

    async def add(self, read: AuditRead) -> None:
        """Keep it, before anything is shown."""
        ...

    async def reads(
        self, *, session_id: str | None = None, limit: int = 100
    ) -> Sequence[AuditRead]:
        """The newest first."""
        ...

    async def sessions(
        self, *, user_id: str | None, search: str, limit: int, after: str | None
    ) -> Sequence[Session]:
        """Everybody's sessions, or one user's, newest first; also those that are archived."""
        ...

    async def owner(self, session_id: str) -> str:
        """Whose session it is. Raises NotFound."""
        ...

    async def flaws(self) -> list[str]:
        """What is off and is no session's own: one sentence each.

        Rows whose session is not there, a trail that was changed, protections that are missing.
        """
        ...
