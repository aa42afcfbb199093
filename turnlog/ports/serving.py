"""How it reaches people: running turns, live events, and what a transport may ask for."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol

from turnlog.events.base import Stamped
from turnlog.events.cursor import Cursor
from turnlog.ports.answering import ToolSpec
from turnlog.ports.storing import Approval, Decision, Question, Session, Store


class StartedTurn(Protocol):
    """A turn that is running; its events come until it is over, whoever listens."""

    turn_id: str
    session_id: str

    def events(self) -> AsyncGenerator[Sequence[Stamped], None]: ...


class Bus(Protocol):
    """Live events, from turns to those who watch.

    Promises: a follower gets every event after its cursor, once, in order, adjacent chunks
    joined; an empty batch now and then, as a sign of life; or None, once, when some of them are
    no longer there. It never holds a turn up.
    """

    def publish(self, session_id: str, batch: Sequence[Stamped]) -> None: ...

    def is_empty(self, session_id: str) -> bool:
        """Whether nothing of this session is remembered."""
        ...

    def follow(
        self, session_id: str, after: Cursor | None
    ) -> AsyncGenerator[Sequence[Stamped] | None, None]:
        """Without a cursor, from the start of the newest turn that is remembered."""
        ...

    def close(self) -> None:
        """Nothing more comes: whoever follows gets the rest, and is done."""
        ...


class Backend(Protocol):
    """What a transport may ask of turnlog."""

    @property
    def store(self) -> Store: ...

    def follow(
        self, user_id: str, session_id: str, after: Cursor | None
    ) -> AsyncGenerator[Sequence[Stamped], None]:
        """What came after the cursor and then what happens, or one resync_required."""
        ...

    async def change_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        """Checked, then stored."""
        ...

    async def stop_turn(self, user_id: str, session_id: str) -> bool:
        """Stop what runs in the session. Says whether anything did."""
        ...

    async def answer_approval(self, user_id: str, approval_id: str, decision: Decision) -> Approval:
        """The first answer counts. Raises NotFound, AlreadyDecided or BadInput."""
        ...

    async def settle_doubt(
        self, user_id: str, session_id: str, tool_use_id: str, *, happened: bool, note: str | None
    ) -> None:
        """A person says what became of a write. Raises NotFound where nothing is in doubt."""
        ...

    async def create_session(
        self,
        user_id: str,
        *,
        title: str | None = None,
        agent: str | None = None,
        engine: str | None = None,
    ) -> Session: ...

    async def start_turn(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        """Returns once the user's message is on disk. The turn goes on without the caller."""
        ...

    @property
    def timezone(self) -> tzinfo:
        """Where the days of bills begin, unless somebody asks for another place."""
        ...

    async def budgets(self, user_id: str, session_id: str | None = None) -> list[dict[str, Any]]:
        """How far each of the user's budgets is used up."""
        ...

    def config(self) -> dict[str, Any]:
        """What a user interface needs to know: model, agents, limits, simulated or not."""
        ...

    def describe(self) -> dict[str, Any]:
        """What runs here: model, store, agents, simulated or not."""
        ...


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool that others may use, as they are told of it."""

    spec: ToolSpec
    title: str
    output_schema: dict[str, Any]
    writes: bool
    destroys: bool  # whether what was there before may be gone
    repeatable: bool  # whether the same call again changes nothing more


class Offer(Protocol):
    """Tools that other programs may use, acting for the user who asks."""

    @property
    def tools(self) -> Sequence[OfferedTool]: ...

    async def call(
        self, user_id: str, name: str, arguments: dict[str, Any], key: str
    ) -> dict[str, Any]:
        """What one of `tools` returns. The same `key` again is the same call.

        Raises a TurnlogError with a sentence for whoever called.
        """
        ...
