"""What others are told over webhooks: notices, written with the events that they are about."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from turnlog.events.base import Event, Stamped, Value
from turnlog.events.kinds import Complete

NoticeStatus = Literal["waiting", "delivered", "failed"]


class Notice(Value, frozen=True, kw_only=True):
    """One thing that one endpoint is told, and how far that has come."""

    id: str  # of the event: the same each time it is sent, for whoever has seen it already
    endpoint: str
    type: str  # approval.requested, turn.ended, ...
    user_id: str  # whose turn it is about
    session_id: str
    created_at: str
    body: str  # JSON, exactly as it is signed and sent
    due_at: str  # when it is sent next
    status: NoticeStatus = "waiting"
    tries: int = 0
    outcome: str = ""  # of the last try


class Announcer(Protocol):
    """Knows which notices an event is worth."""

    def speaks_of(self, event: Event) -> bool: ...

    def of_event(self, user_id: str, entry: Stamped) -> Sequence[Notice]:
        """Of a kept event."""
        ...

    def of_end(
        self, user_id: str, session_id: str, turn_id: str, complete: Complete
    ) -> Sequence[Notice]:
        """Of a turn that is over; `complete` itself is not kept."""
        ...


class Silent:
    """Nobody is to be told anything."""

    def speaks_of(self, event: Event) -> bool:
        return False

    def of_event(self, user_id: str, entry: Stamped) -> Sequence[Notice]:
        return ()

    def of_end(
        self, user_id: str, session_id: str, turn_id: str, complete: Complete
    ) -> Sequence[Notice]:
        return ()


SILENT: Announcer = Silent()


class Outbox(Protocol):
    """Notices, until they are delivered and for a while after.

    Promises: with an announcer set, its notices are written in the same step as the event, or
    as the end of the turn; `on_written` is called after that. A notice that is claimed is
    nobody else's until `until`, so that two processes do not send it at the same time.
    """

    announcer: Announcer
    on_written: Callable[[], None]

    async def claim(self, endpoint: str, now: str, until: str, limit: int) -> list[Notice]:
        """Notices that are due, oldest first; they are due again at `until`."""
        ...

    async def next_due(self, endpoint: str) -> str | None:
        """When the first of those that wait is due."""
        ...

    async def settle(self, notice: Notice) -> None:
        """Remember what came of a try: status, tries, when it is due again, outcome."""
        ...

    async def page(self, *, status: str | None = None, limit: int = 100) -> list[Notice]:
        """Of everybody, newest first: for admins and the command line."""
        ...

    async def replay(self, now: str, *, id: str | None = None, status: str | None = None) -> int:
        """Send again: one, or all with this status. Says how many there are."""
        ...

    async def forget(self, before: str) -> int:
        """Remove what was written before that time and does not wait any more."""
        ...
