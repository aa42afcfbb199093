"""The log, and the part of it that a prompt is made of."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

import msgspec

from turnlog.events.base import Envelope, Stamped
from turnlog.events.kinds import Complete
from turnlog.events.rows.record import BareRecord
from turnlog.ports.storage.turns import Turn


class Excerpt(msgspec.Struct, frozen=True):
    """Events of a session, and what tells whether those before them are what they were."""

    entries: list[Stamped]
    emptied: int = 0  # how many numbers from the anchor on have no body in the log
    before: str = ""  # the id of the event that they come after; "": there is none


class Excerpts(Protocol):
    """Reads logs in which content was destroyed as well."""

    async def excerpt(self, user_id: str, session_id: str, *, anchor: int, after: int) -> Excerpt:
        """The kept events numbered above `after`, oldest first, without those that were erased:
        see `what_is_left`. Nothing of another user's. Where there are none, that is all it says.
        """
        ...


class EventLog(Excerpts, Protocol):
    """The append-only record of every session.

    Promises: what was appended reads back in number order, forever. Numbers are allocated and
    written in one atomic step, with the rows of every projection: per session consecutive from 0,
    no gap, no duplicate, also when many append at once. An append that raises has written nothing.
    A store may answer with a future. What it stands for is written, also if it is cancelled.
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
