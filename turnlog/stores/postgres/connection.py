"""Steps of a transaction on an asyncpg connection.

The steps in `stores/sql` call `db.execute` and want the rows at once. Here they run in a
greenlet: whenever one of them waits for PostgreSQL, the event loop goes on with other things.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import asyncpg
import greenlet

from turnlog.errors import MessageIdTaken, NotFound
from turnlog.events.rows.record import Record
from turnlog.stores.postgres.appending import appended, parted
from turnlog.stores.postgres.statements import SQL, numbered
from turnlog.stores.sql.connection import EMPTY, Conflict, End, NewRows
from turnlog.stores.sql.statements import LAST_EVENT, insert

T = TypeVar("T")


class Rows:
    """The rows of one statement."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class StepConnection:
    """A Connection for steps that run in `carried_out`."""

    def __init__(self, connection: Any, given_up: Collection[str] = ()) -> None:
        """`given_up`: leases that hold no more, whatever the table says."""
        self._connection = connection
        self._given_up = given_up
        self.lease = ""  # of the turn that is changed
        self.transaction: str | None = None  # its number, once it is known

    def execute(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Rows:
        text, arguments = numbered(sql, values)
        try:
            return Rows(_wait_for(self._connection.fetch(text, *arguments)))
        except asyncpg.IntegrityConstraintViolationError as error:
            raise Conflict(str(error)) from error
        except asyncpg.CharacterNotInRepertoireError as error:  # NUL: what is written was checked
            raise NotFound("No id has a NUL character in it.") from error

    def tuples(self, sql: str, values: Mapping[str, Any], /) -> Sequence[Any]:
        return [*self.execute(sql, values)]

    def append_events(self, rows: Sequence[Record], beside: NewRows) -> None:
        """All of it in one statement, but for an answer with very many citations."""
        along, rest = parted(beside)
        sql, values = appended(rows, along)
        try:
            _wait_for(self._connection.fetch(sql, *values))
        except asyncpg.UniqueViolationError as error:
            if error.table_name != "message_ids":
                raise Conflict(str(error)) from error
            raise MessageIdTaken(f"The message id is taken: {error.detail}") from None
        except asyncpg.IntegrityConstraintViolationError as error:
            raise Conflict(str(error)) from error
        for table, more in rest.items():
            for row in more:
                self.execute(insert(table, tuple(row)), row)

    def lock(self, name: str) -> None:
        self.transaction = self.execute(SQL["lock"], {"name": name}).fetchone()[1]

    def drop_drafts(self, turn_id: str) -> None:
        self.execute(SQL["drop_drafts"], {"turn_id": turn_id})

    def hold(self, session_id: str, turn_id: str, lease: str) -> End | None:
        self.lease = lease
        key = {"session_id": session_id, "turn_id": turn_id, "lease": lease}
        self.transaction, holds, seq, seal = self.execute(SQL["hold_session"], key).fetchone()
        if not holds or lease in self._given_up:
            return None
        return EMPTY if seq is None else (seq, seal)

    def end_of_log(self, session_id: str) -> End:
        found: End | None = self.execute(LAST_EVENT, {"session_id": session_id}).fetchone()
        return found or EMPTY


def _wait_for(answer: Awaitable[T]) -> T:
    """Let the event loop wait for it."""
    parent = greenlet.getcurrent().parent
    assert parent is not None
    result: T = parent.switch(answer)
    return result


async def carried_out(step: Callable[[StepConnection], T], db: StepConnection) -> T:
    """The result of the step, whose statements are waited for here."""
    child = greenlet.greenlet(step)
    child.gr_context = greenlet.getcurrent().gr_context
    waits_for = child.switch(db)
    while not child.dead:
        try:
            answer = await waits_for
        except BaseException as error:
            waits_for = child.throw(error)
        else:
            waits_for = child.switch(answer)
    result: T = waits_for
    return result
