"""Steps of a transaction on an asyncpg connection.

The steps in `stores/sql` call `db.execute` and want the rows at once. Here they run in a
greenlet: whenever one of them waits for PostgreSQL, the event loop goes on with other things.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import asyncpg
import greenlet

from turnlog.errors import MessageIdTaken
from turnlog.events.record import Record
from turnlog.stores.postgres.statements import SQL, numbered
from turnlog.stores.sql.connection import Conflict, Row

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

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.transaction: str | None = None  # its number, once it is known

    def execute(self, sql: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Rows:
        text, arguments = numbered(sql, values)
        try:
            return Rows(_wait_for(self._connection.fetch(text, *arguments)))
        except asyncpg.IntegrityConstraintViolationError as error:
            raise Conflict(str(error)) from error

    def append_event(self, record: Record, message: Row | None) -> None:
        self.execute(SQL["append_event"], record)
        if message is None:
            return
        try:
            self.execute(SQL["add_message"], message)
        except Conflict:
            raise MessageIdTaken(f"message id {message['message_id']!r} is taken") from None

    def lock(self, name: str) -> None:
        self.transaction = self.execute(SQL["lock"], {"name": name}).fetchone()[1]


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
