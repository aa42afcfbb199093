"""What the core needs from the outside, as Protocols of a few verbs, and the values that cross.

Adapters do not inherit from these; they fit. The promises in the docstrings are checked by
`turnlog.testing.contracts`. What a Protocol lacks, nobody can do: the log has no update.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from turnlog.events.base import AgentRef, Event, Placed, Stamped, Value
from turnlog.events.content import TokenUsage
from turnlog.events.cursor import Cursor
from turnlog.events.kinds import ToolUse
from turnlog.events.record import Record


class Session(Value, frozen=True, kw_only=True):
    """One conversation of one user."""

    id: str
    user_id: str
    title: str
    agent_id: str
    created_at: str
    anchor: int = 0  # the history that the model is told begins at this number
    archived: bool = False
    thinking_enabled: bool = False
    thinking_budget: int = 10_000


class Turn(Value, frozen=True, kw_only=True):
    """One question and all that was done to answer it."""

    id: str
    session_id: str
    user_id: str
    state: str  # running | done | failed
    first_seq: int
    started_at: str
    request_id: str | None = None
    draft: bytes | None = None  # what had been shown of the answer that is being written


class Question(Value, frozen=True, kw_only=True):
    """What a user sends."""

    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    request_id: str | None = None
    on_busy: Literal["reject", "enqueue"] = "reject"


class EventLog(Protocol):
    """The append-only record of every session.

    Promises: what was appended reads back in number order, forever. Numbers are allocated and
    written in one atomic step: per session consecutive from 0, no gap, no duplicate, also when
    many append at once. The rows of every projection are written in the same step. An append
    that raises has written nothing.
    """

    async def append(self, turn: Turn, events: Sequence[Placed]) -> int:
        """Write the events in order and return the first one's number.

        Raises MessageIdTaken if a message's id belongs to another message, and TurnOver if the
        turn has been ended or is in another process's hands.
        """
        ...

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        """The kept events numbered above `after`, oldest first. Nothing of another user's."""
        ...

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[Stamped]:
        """The newest `limit` kept events (numbered below `before`), oldest first."""
        ...


class Sessions(Protocol):
    """Who owns which conversation. Every question names the user who asks."""

    async def create_session(self, session: Session) -> None: ...

    async def get_session(self, user_id: str, session_id: str) -> Session:
        """Raises NotFound for an unknown session and for someone else's alike."""
        ...

    async def list_sessions(
        self, user_id: str, *, limit: int, after: str | None = None, archived: bool = False
    ) -> list[Session]:
        """The user's sessions, newest first; those that come after the one with id `after`."""
        ...

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        """Set title, archived or the thinking settings. Raises NotFound as get_session does."""
        ...


class Turns(Protocol):
    """Which turns run, and in whose hands.

    Promises: a session has at most one running turn; a turn whose process died is handed to
    exactly one of those who ask for it.
    """

    async def begin_turn(self, turn: Turn, first: Sequence[Placed]) -> Turn:
        """Open the turn and append its first events, in one step.

        Returns the turn with its first number. Raises Busy while another turn of the session
        runs, AlreadyAsked when the session has seen this request_id, NotFound when the session
        is not the user's.
        """
        ...

    async def save_draft(self, turn_id: str, draft: bytes) -> None:
        """Remember what was shown of an unfinished answer, in case this process dies."""
        ...

    async def finish_turn(self, turn_id: str) -> None:
        """The turn is over and needs nobody any more."""
        ...

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        """Turns that nobody works on, now this process's: of one session or of all.

        Those whose process died, and those of this process that are not in `working_on`.
        """
        ...


class Evidence(NamedTuple):
    """Everything stored about a session, as it lies there: what `turnlog verify` examines."""

    session: Session
    log: list[Record]
    tables: dict[str, list[dict[str, Any]]]
    turns: list[Turn]

    @property
    def running(self) -> list[str]:
        """Ids of the turns that are not over."""
        return [turn.id for turn in self.turns if turn.state == "running"]


class Audit(Protocol):
    """For those who may see everything: the command line and the admin."""

    async def session_ids(self) -> list[str]: ...

    async def evidence(self, session_id: str) -> Evidence: ...


class Store(EventLog, Sessions, Turns, Audit, Protocol):
    """A place that keeps all of it. One adapter, four faces."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ToolBox(Protocol):
    """The tools of one turn, acting for its user."""

    @property
    def specs(self) -> Sequence[ToolSpec]: ...

    def run(self, calls: Sequence[ToolUse]) -> AsyncGenerator[list[Event], None]:
        """Run the calls at once; yield what happens.

        The last events are the calls' ToolResults, in the order of the calls, one each. It
        never raises for what a tool did.
        """
        ...


@dataclass(frozen=True)
class Agent:
    """Who answers: a prompt and the tools it may use."""

    id: str
    _: KW_ONLY
    prompt: str = ""
    tools: Sequence[Any] = ()  # made by @tool
    name: str = ""
    model: str | None = None  # None: the server's

    @property
    def ref(self) -> AgentRef:
        return AgentRef(id=self.id, name=self.name or self.id.replace("_", " ").title())


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What an engine is given: everything the model is told."""

    model: str
    system: str
    messages: list[dict[str, Any]]  # Messages API form, valid for the model
    max_tokens: int
    thinking_budget: int | None = None  # None: don't think
    max_calls: int = 50  # model calls in one turn, against loops without end


class CallStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The model began to answer. Not an event: it says what an unfinished answer would be."""

    message_id: str
    model: str
    reported: dict[str, Any]  # usage so far


class Said(msgspec.Struct, frozen=True):
    """A batch of what an engine produced, and by which agent (None: the current one)."""

    outputs: Sequence[Event | CallStarted]
    agent: AgentRef | None = None


class Engine(Protocol):
    """Who answers. It translates a provider's stream into our events and decides nothing.

    Promises: ids are the provider's; a call yields CallStarted, its pieces, then
    `thinking`*, `message`, `tool_use`* together; it goes on only when a batch it yielded has
    been stored. Raises EngineFailed, and nothing else, for what the provider did.
    """

    def answer(self, ask: Ask, tools: ToolBox) -> AsyncGenerator[Said, None]: ...

    async def open(self) -> None:
        """Get ready in the background; returns at once."""
        ...

    async def close(self) -> None: ...


Show = Callable[[Sequence[Stamped]], None]  # where a turn's events go, live


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """How a turn ended."""

    success: bool
    turn_id: str
    session_id: str
    error: str | None
    message_id: str | None
    usage: TokenUsage
    cost_usd: Any
    events: list[Stamped]
    text: str = ""  # the answer, as the last message has it


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

    async def create_session(
        self, user_id: str, *, title: str | None = None, agent: str | None = None
    ) -> Session: ...

    async def start_turn(self, user_id: str, session_id: str, question: Question) -> StartedTurn:
        """Returns once the user's message is on disk. The turn goes on without the caller."""
        ...

    def describe(self) -> dict[str, Any]:
        """What runs here: model, store, agents, simulated or not."""
        ...
