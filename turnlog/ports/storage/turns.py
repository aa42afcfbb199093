"""Turns, and in whose hands they are."""

from collections.abc import Awaitable, Collection, Sequence
from typing import Protocol

from turnlog.events.base import Envelope, Value
from turnlog.events.kinds import Complete
from turnlog.ports.tools import ToolStarted

OPEN = ("running", "waiting")  # states of a turn that is not over


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

    async def claim_waiting(
        self, user_id: str, session_id: str, turn_id: str | None = None
    ) -> Turn | None:
        """The turn of the session that waits, running again under a fresh lease; or None. With
        `turn_id` only that one.
        """
        ...

    async def claim_abandoned(
        self, session_id: str | None = None, *, working_on: Collection[str] = ()
    ) -> list[Turn]:
        """Turns that nobody works on, under fresh leases: of one session or of all.

        Those whose process died, and those of this process that are not in `working_on`.
        """
        ...
