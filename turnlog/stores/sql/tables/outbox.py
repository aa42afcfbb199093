"""Notices on a connection: written with the events, claimed, settled, sent again."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from turnlog.events.kinds import Complete
from turnlog.ports import SILENT, Announcer, Notice, Turn
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL, insert

_COLUMNS = Notice.__struct_fields__


class SqlOutbox:
    """An Outbox on any SQL database."""

    def __init__(self, look: OnConnection, change: OnConnection) -> None:
        self._look = look
        self._change = change
        self.announcer: Announcer = SILENT
        self.on_written: Callable[[], None] = lambda: None

    def notices_of_end(self, turn: Turn, complete: Complete | None) -> Sequence[Notice]:
        if complete is None:
            return ()
        return self.announcer.of_end(turn.user_id, turn.session_id, turn.id, complete)

    async def claim(self, endpoint: str, now: str, until: str, limit: int) -> list[Notice]:
        place = {"endpoint": endpoint, "now": now, "until": until, "limit": limit}
        return await self._change(lambda db: _claim(db, place))

    async def next_due(self, endpoint: str) -> str | None:
        row = await self._look(lambda db: _one(db, "get_next_notice", endpoint=endpoint))
        return None if row is None else row

    async def settle(self, notice: Notice) -> None:
        values = msgspec.structs.asdict(notice)
        await self._change(lambda db: _done(db, "settle_notice", **values))

    async def page(self, *, status: str | None = None, limit: int = 100) -> list[Notice]:
        values = {"status": status, "limit": limit}
        return await self._look(lambda db: _notices(db, "list_notices", values))

    async def replay(self, now: str, *, id: str | None = None, status: str | None = None) -> int:
        values = {"now": now, "id": id, "status": status}
        count = await self._change(lambda db: _done(db, "replay_notices", **values))
        self.on_written()
        return count

    async def forget(self, before: str) -> int:
        return await self._change(lambda db: _done(db, "forget_notices", before=before))


def write(db: Connection, notices: Iterable[Notice]) -> None:
    for notice in notices:
        db.execute(insert("outbox", _COLUMNS), msgspec.structs.asdict(notice))


def _claim(db: Connection, place: Mapping[str, object]) -> list[Notice]:
    due = _notices(db, "list_due_notices", place)
    until = place["until"]
    return [
        notice
        for notice in due
        if _done(db, "claim_notice", **msgspec.structs.asdict(notice), until=until)
    ]


def _notices(db: Connection, statement: str, values: Mapping[str, object]) -> list[Notice]:
    rows = db.execute(SQL[statement], values)
    return [Notice(**{name: row[name] for name in _COLUMNS}) for row in map(dict, rows)]


def _one(db: Connection, statement: str, **values: object) -> str | None:
    row = db.execute(SQL[statement], values).fetchone()
    return None if row is None else row[0]


def _done(db: Connection, statement: str, **values: object) -> int:
    """How many rows it changed."""
    return len(list(db.execute(SQL[statement], values)))
