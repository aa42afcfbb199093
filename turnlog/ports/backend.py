"""What a transport may ask of turnlog."""

from collections.abc import AsyncGenerator, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any, Protocol

from turnlog.events.base import Value
from turnlog.events.cursor import Cursor, before
from turnlog.ports.bus import Bus, Give, LiveEvent
from turnlog.ports.files import Files
from turnlog.ports.library import Library
from turnlog.ports.storage.approvals import Approval, Decision
from turnlog.ports.storage.line import Question, Waiting
from turnlog.ports.storage.sessions import Session
from turnlog.ports.storage.turns import Turn
from turnlog.ports.store import Store
from turnlog.ports.user import User
from turnlog.telemetry.metrics import Metrics


class StartedTurn(Value, frozen=True, kw_only=True):
    """A turn that goes on by itself, and where to follow it from."""

    turn_id: str
    session_id: str
    first_seq: int

    @classmethod
    def of(cls, turn: Turn) -> "StartedTurn":
        return cls(turn_id=turn.id, session_id=turn.session_id, first_seq=turn.first_seq)

    @property
    def after(self) -> Cursor:
        """The cursor just before its first event."""
        return before(self.first_seq)


class InLine(Value, frozen=True, kw_only=True):
    """A question that waits until its session is free. Its turn begins by itself."""

    waiting: Waiting
    place: int  # 1: it is the next one

    @property
    def turn_id(self) -> str:
        return self.waiting.turn_id


class Estimate(Value, frozen=True, kw_only=True):
    """What a message would cost at least."""

    input_tokens: int
    estimated_cost_usd: Decimal | None  # None: the model has no known price
    would_exceed_budget: bool


class Estimating(Protocol):
    """Tells what a message would cost, before it is sent."""

    async def of(self, user: User | str, session_id: str, question: Question) -> Estimate:
        """Raises what sending the message would raise: NotFound, BadInput, TooLarge."""
        ...


class RawLog(Protocol):
    """The provider's own bytes of model calls, where they were kept."""

    async def of(self, message_id: str, at: str) -> bytes:
        """Of the answer with this id, which came at about `at`. Raises NotFound and TooLarge."""
        ...


class Backend(Protocol):
    """What a transport may ask of turnlog."""

    @property
    def store(self) -> Store: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def metrics(self) -> Metrics: ...

    @property
    def jwks(self) -> dict[str, Any]:
        """The public key of what is asserted to tool servers."""
        ...

    @property
    def most_characters(self) -> int:
        """Of one question."""
        ...

    @property
    def raw(self) -> RawLog: ...

    @property
    def files(self) -> Files: ...

    @property
    def library(self) -> Library | None:
        """None where no agent looks things up."""
        ...

    def follow(
        self, user_id: str, session_id: str, after: Cursor | None, give: Give | None = None
    ) -> AsyncGenerator[Sequence[LiveEvent], None]:
        """What came after the cursor and then what happens, or one resync_required.

        Without a cursor it begins with the newest turn, from its start. `give` takes chunks that
        come while nothing else is on its way: they are in no batch.
        """
        ...

    def follow_turn(
        self, user_id: str, turn: StartedTurn, give: Give | None = None
    ) -> AsyncGenerator[Sequence[LiveEvent], None]:
        """One turn from its start until `complete` or `error`, however long it waits."""
        ...

    async def change_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        """Checked, then stored."""
        ...

    async def stop_turn(self, user_id: str, session_id: str, turn_id: str | None = None) -> bool:
        """Stop what runs or waits in the session, on whichever node. Says whether anything did.
        With `turn_id` only that turn, and not the next one where it is over by now.

        Returns when the turn is over. Raises Busy where its node does not stop it in time.
        """
        ...

    async def answer_approval(
        self, user: User | str, approval_id: str, decision: Decision
    ) -> Approval:
        """The first answer counts. A user that is only named has no role.

        Raises NotFound, Forbidden, AlreadyDecided, BadInput or ContentErased.
        """
        ...

    async def settle_doubt(
        self, user_id: str, session_id: str, tool_use_id: str, *, happened: bool, note: str | None
    ) -> None:
        """A person says what became of a write. Raises NotFound where nothing is in doubt."""
        ...

    async def give_feedback(
        self, user_id: str, session_id: str, message_ids: Sequence[str], *, positive: bool
    ) -> None:
        """Keep what the user says of answers. Raises NotFound."""
        ...

    async def create_session(
        self,
        user: User | str,
        *,
        title: str | None = None,
        agent: str | None = None,
        engine: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        """`session_id`: of a protocol whose clients name conversations; never a client's own
        words, which might be somebody else's.
        """
        ...

    async def accept(
        self, user: User | str, session_id: str, question: Question
    ) -> StartedTurn | InLine:
        """Returns once the user's message is on disk: its turn has begun, or it waits in line.

        Both go on without the caller. The roles of the user are those of the turn, also where
        another process goes on with it.
        """
        ...

    async def begun(self, accepted: StartedTurn | InLine) -> StartedTurn:
        """The turn, when it has begun.

        Raises Closing where this process ends before that: another one begins the turn. Raises
        NotFound where nobody can begin it any more.
        """
        ...

    async def start_turn(
        self, user: User | str, session_id: str, question: Question
    ) -> StartedTurn:
        """Both: returns when the turn has begun."""
        ...

    @property
    def timezone(self) -> tzinfo:
        """Where the days of bills begin, unless somebody asks for another place."""
        ...

    async def budgets(self, user_id: str, session_id: str | None = None) -> list[dict[str, Any]]:
        """How far each of the user's budgets is used up."""
        ...

    @property
    def estimates(self) -> Estimating: ...

    def config(self, user: User | str) -> dict[str, Any]:
        """What a user interface needs to know: model, agents with their tools as far as they are
        known now, limits, simulated or not.
        """
        ...

    def describe(self, *, places: bool = True) -> dict[str, Any]:
        """What runs here: model, store, sequencer, agents, simulated or not.

        `places`: also folders, addresses and servers of others, which only an operator is told.
        """
        ...
