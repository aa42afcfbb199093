"""A connection as the steps of a transaction see it, whichever database answers.

SQLite's own connection nearly is one. PostgreSQL's waits for its answers in an event loop, and
its steps run in a greenlet: see `stores/postgres/connection.py`.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from turnlog.events.rows.record import NO_SEAL, Record

T = TypeVar("T")
Row = Mapping[str, Any]
NewRows = Mapping[str, Sequence[Row]]  # by their table
End = tuple[int, bytes]  # of a session's log: the newest number, and its seal
EMPTY: End = (-1, NO_SEAL)
NOT_OPEN = "The store is not open. Say `async with app:` first, or `await store.open()`."


class Conflict(Exception):
    """The row is there already, or breaks a rule of its table. The step must not go on."""


class Cursor(Protocol):
    """The rows of one statement. A row is a sequence, and `dict(row)` has its names."""

    def fetchone(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Where the steps of one transaction are carried out. A value in SQL is `:name` or `?`."""

    def execute(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Cursor:
        """Raises Conflict."""
        ...

    def tuples(self, sql: str, values: Mapping[str, Any], /) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement that reads many, all at once and without names."""
        ...

    def append_events(self, rows: Sequence[Record], beside: NewRows) -> None:
        """Rows of the log, and new ones of other tables with them.

        Of those in `messages` it is enough where the log has them: the log is where they are.
        Raises MessageIdTaken where another one has its id.
        """
        ...

    def end_of_log(self, session_id: str) -> End: ...

    def hold(self, session_id: str, turn_id: str, lease: str) -> End | None:
        """Take the lock of the session. Where its log ends, if the turn runs under this lease."""
        ...

    def drop_drafts(self, turn_id: str) -> None:
        """The turn does not run any more: nobody needs them."""
        ...

    def lock(self, name: str) -> None:
        """Nobody else has this lock until the transaction is over: of a session, by its id."""
        ...


class OnConnection(Protocol):
    """How a store reads, or writes."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...
