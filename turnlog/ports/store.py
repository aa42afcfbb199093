"""Where it stays: the log, the sessions, the turns, and the audit of all of it."""

from collections.abc import Awaitable, Collection, Sequence
from decimal import Decimal
from typing import Any, Literal, Protocol

from turnlog.events.base import Envelope, Stamped, Value
from turnlog.events.kinds import Complete
from turnlog.events.rows.record import BareRecord
from turnlog.events.rows.seal import Seals
from turnlog.ports.audit import Audit, AuditTrail
from turnlog.ports.billing import Billing
from turnlog.ports.citations import Citations
from turnlog.ports.deposits import Deposits
from turnlog.ports.excerpts import Excerpts
from turnlog.ports.files import FileTable
from turnlog.ports.line import Line
from turnlog.ports.outbox import Outbox
from turnlog.ports.reach import Reach
from turnlog.ports.tickets import Tickets
from turnlog.ports.tool_runs import ToolRun
from turnlog.ports.tools import ToolStarted
from turnlog.ports.user import User

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


class Turn(Value, frozen=True, kw_only=True):
    """One question and all that was done to answer it."""

    id: str
    session_id: str
    user_id: str
    state: str = "running"  # or: waiting (for a person) | done | failed
    first_seq: int = 0
    started_at: str = ""
    request_id: str | None = None
    draft: bytes | None = None  # for who claims it: all pieces, a line each (see `add_draft`)
    lease: str = ""  # the token that its holder shows with every change; "": not a holder


class Approval(Value, frozen=True, kw_only=True):
    """A call that a person must allow, and what became of the question."""

    id: str
    session_id: str
    turn_id: str
    tool_use_id: str
    tool_name: str
    args: dict[str, Any]
    args_hash: str
    description: str
    created_at: str
    expires_at: str
    status: str  # pending | approved | rejected | expired | withdrawn
    asked_by: str  # the user whose turn waits
    may_decide: str = "asker"  # asker | others | role:NAME | others:NAME
    cost_so_far_usd: Decimal | None = None  # of the turn, until it asked; None: unknown
    decided_by: str | None = None
    decided_at: str | None = None
    reason: str | None = None


class Decision(Value, frozen=True, kw_only=True):
    """A person's answer to an approval; `args` where they changed what may run."""

    approved: bool
    reason: str | None = None
    args: dict[str, Any] | None = None


class EventLog(Excerpts, Protocol):
    """The append-only record of every session.

    Promises: what was appended reads back in number order, forever. Numbers are allocated and
    written in one atomic step, with the rows of every projection: per session consecutive from 0,
    no gap, no duplicate, also when many append at once. An append that raises has written nothing.
    Where the answer is a future, it is written whoever waits, also if that future is cancelled.
    """

    def append(
        self, turn: Turn, events: Sequence[Envelope], complete: Complete | None = None
    ) -> Awaitable[int]:
        """Write the events in order and return the first one's number.

        With `complete` the turn is over in the same step, as by `finish_turn`.
        Raises MessageIdTaken if a message's id belongs to another message, TurnOver if the
        turn's lease does not hold any more, and AlreadyDecided if an approval that it decides
        is not open any more.
        """
        ...

    async def annotate(self, turn: Turn, events: Sequence[Envelope]) -> int:
        """Write internal events about a turn, whatever its state. It needs no lease."""
        ...

    async def read(
        self, user_id: str, session_id: str, *, after: int = -1, limit: int | None = None
    ) -> list[Stamped]:
        """The kept events numbered above `after`, oldest first. Nothing of another user's."""
        ...

    async def recall(self, session_id: str, seq: int) -> Stamped:
        """One kept event, for a bus: those who follow it were allowed to before."""
        ...

    async def has_message(self, message_id: str) -> bool:
        """Whether any message, of whomever, has this id."""
        ...

    async def tail(
        self, user_id: str, session_id: str, *, limit: int, before: int | None = None
    ) -> list[BareRecord]:
        """The newest `limit` rows (numbered below `before`), oldest first; `stamped` reads one."""
        ...

    async def last_number(self, user_id: str, session_id: str) -> int:
        """The newest event's; -1 where there is none."""
        ...


class Sessions(Reach, Protocol):
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

    async def update_session(self, user_id: str, session_id: str, **changes: Any) -> Session:
        """Set title, archived, thinking or web search. Raises NotFound as get_session does."""
        ...


class Turns(Protocol):
    """Which turns run, and in whose hands.

    Promises: a session has at most one turn that runs or waits; a turn whose process died is
    handed to exactly one of those who ask for it; a turn that waits is nobody's.

    Beginning or claiming a turn returns it with a fresh lease. Every change of a turn takes the
    turn with its lease and checks it in the same step: where the turn is over, waits, or was
    claimed by another, it raises TurnOver and changes nothing. A future as its answer is cheapest.
    """

    def begin_turn(self, turn: Turn, first: Sequence[Envelope], title: str = "") -> Awaitable[Turn]:
        """Open the turn and append its first events, in one step.

        `title` becomes the session's where it has none; a name that somebody gave stays.
        Returns the turn with its first number and its lease. Raises Busy while another turn of
        the session runs or waits, or another question is first in line; AlreadyAsked when the
        session has seen this turn or its request_id; NotFound when the session is not the user's.
        """
        ...

    async def add_draft(self, turn: Turn, piece: bytes) -> None:
        """Remember what more was shown of unfinished answers, in case this process dies.

        What was remembered before stays as it is, and is not written again: the cost of a piece
        does not grow with the answer. All of it goes when the turn is over, or waits.
        """
        ...

    async def finish_turn(self, turn: Turn, complete: Complete | None = None) -> None:
        """The turn is over and needs nobody any more. Its lease ends.

        `complete`: what is shown then, for those who are told of it.
        """
        ...

    def start_tools(self, turn: Turn, starting: Sequence[ToolStarted]) -> Awaitable[None]:
        """Remember that these begin. Raises AlreadyBegun, with none of them remembered, where
        the session has seen one before.
        """
        ...

    async def newest_turn(self, user_id: str, session_id: str) -> Turn | None:
        """The turn that began last, in whatever state; only that one may run or wait."""
        ...

    async def find_turn(self, user_id: str, session_id: str, turn_id: str) -> Turn | None:
        """The turn in whatever state; None where it has not begun."""
        ...

    async def started_tools(self, turn: Turn) -> set[str]:
        """Ids of the turn's calls that have begun and are not known to have ended."""
        ...

    async def suspend_turn(self, turn: Turn) -> None:
        """The turn waits for a person from now on, and needs no process. Its lease ends."""
        ...

    async def claim_waiting(self, user_id: str, session_id: str) -> Turn | None:
        """The turn of the session that waits, running again under a fresh lease; or None."""
        ...

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        """Turns that nobody works on, under fresh leases: of one session or of all.

        Those whose process died, and those of this process that are not in `working_on`.
        """
        ...


class Approvals(Protocol):
    """What people must decide: approvals, and writes that are in doubt.

    Each is its user's. Where others may decide, they find it too.
    """

    async def get_approval(self, user_id: str, approval_id: str) -> Approval:
        """Raises NotFound for an unknown one and for someone else's alike."""
        ...

    async def list_approvals(
        self, user_id: str, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """The user's, oldest first."""
        ...

    async def approval_to_decide(self, user: User, approval_id: str) -> Approval:
        """Anybody's, if this user may decide on it.

        Raises NotFound where not, and Forbidden where the user asked for it and others decide.
        """
        ...

    async def approvals_to_decide(
        self, user: User, *, status: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """Those that the user may decide on, oldest first. Of other users' turns only open ones,
        and those that this user has decided.
        """
        ...

    async def due_approvals(self, now: str) -> list[tuple[str, Approval]]:
        """Open ones of everybody that expire up to `now`, each with its user."""
        ...

    async def next_expiry(self) -> str | None:
        """When the first of all open approvals expires."""
        ...

    async def list_doubts(self, user_id: str) -> list[ToolRun]:
        """The user's writes of which nobody knows whether they took effect, oldest first."""
        ...


class Store(EventLog, Sessions, Turns, Approvals, Tickets, Audit, Billing, Citations, Protocol):
    """A place that keeps all of it. One adapter, seven faces."""

    @property
    def url(self) -> str:
        """Where it is, without secrets: sqlite:FOLDER, memory:"""
        ...

    seals: Seals  # how rows of the log are sealed

    @property
    def outbox(self) -> Outbox:
        """What others are told over webhooks."""
        ...

    @property
    def line(self) -> Line:
        """Questions that wait for their session."""
        ...

    @property
    def audit(self) -> AuditTrail: ...

    @property
    def files(self) -> FileTable:
        """What is known of users' files. Their bytes are elsewhere: see ports/files.py."""
        ...

    @property
    def deposits(self) -> Deposits:
        """Which parts of files rest with the model's provider."""
        ...

    async def open(self, *, server: str | None = None) -> None:
        """Make the place ready. `server`: the address of a server, which runs turns here.

        Raises StoreUnusable where that cannot be, and StoreTaken where another server works in
        a place that has room for one.
        """
        ...

    async def close(self) -> None: ...
