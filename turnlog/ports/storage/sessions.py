"""Conversations, and whose they are."""

from typing import Any, Literal, Protocol

from turnlog.events.base import Value

SessionState = Literal["idle", "running", "waiting"]


class Session(Value, frozen=True, kw_only=True):
    """One conversation of one user."""

    id: str
    user_id: str
    title: str  # "": nobody has named it yet
    agent_id: str
    created_at: str
    anchor: int = 0  # the history that the model is told begins at this number
    archived: bool = False
    thinking_enabled: bool = False
    thinking_budget: int = 10_000
    web_search: bool = False
    searches: int = 0  # made so far, as the log has them
    engine: str = "claude"  # which one answers
    # Seen in the turns and in the log, never set:
    state: SessionState = "idle"
    turn_id: str | None = None  # of the turn that runs or waits
    last_activity_at: str = ""  # the time of its newest event; "": nothing has happened

    @property
    def active_at(self) -> str:
        """When something went on in it last; when it was made, if nothing did."""
        return self.last_activity_at or self.created_at


class Sessions(Protocol):
    """Who owns which conversation. Every question names the user who asks."""

    async def create_session(self, session: Session) -> None: ...

    async def get_session(self, user_id: str, session_id: str) -> Session:
        """Raises NotFound for an unknown session and for someone else's alike."""
        ...

    async def list_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        after: str | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        """The user's sessions, newest first; those that come after the one with id `after`.

        `search`: whose titles, or newest questions and answers, hold these words in any case.
        """
        ...

    async def list_active_sessions(
        self,
        user_id: str,
        *,
        limit: int,
        below: tuple[str, str] | None = None,
        archived: bool = False,
        search: str = "",
    ) -> list[Session]:
        """The same sessions, those where something went on last first.

        `below`: (`active_at`, `id`) of the last one of the page before, as they were then. What
        goes on meanwhile moves up, so that no session is on two pages.
        """
        ...

    async def reaches_all(self, user_id: str, *, archived: bool = False) -> bool:
        """Whether a search looks into every question and answer of these sessions, and not only
        into the newest. Titles are searched in all of them.
        """
        ...

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        """Set title, archived, thinking or web search. Raises NotFound as get_session does."""
        ...
