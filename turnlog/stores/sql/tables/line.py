"""Questions in line, on a connection."""

from typing import Any

import msgspec

from turnlog.ports import MOST_IN_LINE, Question, Waiting, too_many_in_line
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL, insert
from turnlog.stores.sql.tables import turns

_COLUMNS = Waiting.__struct_fields__  # the statements list them in this order
_question = msgspec.json.Decoder(Question).decode


class SqlLine:
    """A Line on any SQL database."""

    def __init__(self, look: OnConnection, change: OnConnection) -> None:
        self._look = look
        self._change = change

    async def join(self, waiting: Waiting) -> Waiting:
        return await self._change(lambda db: _join(db, waiting))

    async def turn_ids(self, session_id: str) -> list[str]:
        key = {"session_id": session_id}
        return await self._look(lambda db: [row[0] for row in db.execute(SQL["list_line"], key)])

    async def get(self, turn_id: str) -> Waiting | None:
        return await self._look(lambda db: _one(db, "get_waiting_question", turn_id=turn_id))

    async def of_request(self, session_id: str, request_id: str) -> Waiting | None:
        return await self._look(lambda db: _of_request(db, session_id, request_id))

    async def sessions(self) -> list[str]:
        return await self._look(lambda db: [row[0] for row in db.execute(SQL["list_free_lines"])])

    async def leave(self, turn_id: str) -> None:
        await self._change(lambda db: db.execute(SQL["leave_line"], {"turn_id": turn_id}))


def _join(db: Connection, waiting: Waiting) -> Waiting:
    session_id, request_id = waiting.session_id, waiting.question.request_id
    db.lock(session_id)
    turns.before(db, waiting.user_id, session_id, waiting.turn_id, request_id)
    if request_id is not None and (there := _of_request(db, session_id, request_id)):
        return there
    count, place = db.execute(SQL["count_line"], {"session_id": session_id}).fetchone()
    if count >= MOST_IN_LINE:
        raise too_many_in_line()
    row = {name: getattr(waiting, name) for name in _COLUMNS}
    row |= {"question": msgspec.json.encode(waiting.question).decode()}
    row |= {"request_id": request_id, "place": place}
    db.execute(insert("line", tuple(row)), row)
    return waiting


def _of_request(db: Connection, session_id: str, request_id: str) -> Waiting | None:
    return _one(db, "get_waiting_request", session_id=session_id, request_id=request_id)


def _one(db: Connection, statement: str, **values: Any) -> Waiting | None:
    row = db.execute(SQL[statement], values).fetchone()
    if row is None:
        return None
    fields = dict(zip(_COLUMNS, row, strict=True))
    return Waiting(**fields | {"question": _question(fields["question"])})
