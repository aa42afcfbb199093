"""The table of users' files on a connection."""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnlog.errors import BeingDeleted, NotFound, QuotaUsedUp
from turnlog.ports import File
from turnlog.stores.sql.connection import Connection, OnConnection
from turnlog.stores.sql.statements import SQL, insert, update

Row = dict[str, Any]
_COLUMNS = File.__struct_fields__  # the statements list them in this order
_FLAGS = ("locked", "deleted")
_LASTING = (
    "id",
    "user_id",
    "created_at",
    "deleted",
    "uses",
    "last_used_at",
)  # when the same content comes again
_NEWEST = {"created_at": "\U0010ffff", "id": ""}  # a place before every file


class AttachedFiles:
    """A FileTable on any SQL database."""

    def __init__(self, look: OnConnection, change: OnConnection) -> None:
        self._look = look
        self._change = change

    async def add(self, file: File, *, quota: int) -> File:
        return await self._change(lambda db: _add(db, file, quota))

    async def get(self, user_id: str, file_id: str) -> File:
        return await self._look(lambda db: _get(db, user_id, file_id))

    async def get_all(self, user_id: str, file_ids: Sequence[str]) -> dict[str, File]:
        return await self._look(lambda db: _get_all(db, user_id, file_ids))

    async def find(self, user_id: str, sha256: str) -> File | None:
        return await self._look(lambda db: _found(_same(db, user_id, sha256)))

    async def page(self, user_id: str, *, limit: int, after: str | None = None) -> list[File]:
        return await self._look(lambda db: _page(db, user_id, limit, after))

    async def used(self, user_id: str) -> int:
        return await self._look(lambda db: _used(db, user_id))

    async def note_use(self, user_id: str, file_ids: Sequence[str], at: str) -> None:
        await self._change(lambda db: _note_use(db, user_id, file_ids, at))

    async def mark_deleted(self, user_id: str, file_id: str) -> File:
        return await self._change(lambda db: _mark_deleted(db, user_id, file_id))

    async def forget(self, user_id: str, file_id: str) -> None:
        key = {"user_id": user_id, "id": file_id}
        await self._change(lambda db: db.execute(SQL["forget_file"], key))

    async def every(self, *, limit: int, after: str = "") -> list[File]:
        bounds = {"after": after, "limit": limit}
        return await self._look(
            lambda db: [_file(row) for row in db.execute(SQL["list_every_file"], bounds)]
        )


def _add(db: Connection, file: File, quota: int) -> File:
    _lock(db, file.user_id)
    before = _same(db, file.user_id, file.sha256)
    if before is not None and before.deleted:
        raise BeingDeleted(f"{file.name!r} is being deleted at this moment. Try again.")
    if before is not None:
        kept = {name: getattr(before, name) for name in _LASTING}
        file = msgspec.structs.replace(file, **kept)
        db.execute(update("files", _COLUMNS, ("id",)), _row(file))
        return file
    used = _used(db, file.user_id)
    if used + file.size > quota:
        raise QuotaUsedUp(used, file.size, quota)
    db.execute(insert("files", _COLUMNS), _row(file))
    return file


def _get(db: Connection, user_id: str, file_id: str) -> File:
    found = _get_all(db, user_id, [file_id])
    if not found:
        raise NotFound(f"There is no file {file_id!r}.")
    return found[file_id]


def _get_all(db: Connection, user_id: str, file_ids: Sequence[str]) -> dict[str, File]:
    asked = [{"id": file_id, "user_id": user_id} for file_id in dict.fromkeys(file_ids)]
    rows = [db.execute(SQL["get_file"], each).fetchone() for each in asked]
    return {file.id: file for file in (_file(row) for row in rows if row is not None)}


def _same(db: Connection, user_id: str, sha256: str) -> File | None:
    row = db.execute(SQL["find_file"], {"sha256": sha256, "user_id": user_id}).fetchone()
    return None if row is None else _file(row)


def _found(file: File | None) -> File | None:
    return None if file is None or file.deleted else file


def _page(db: Connection, user_id: str, limit: int, after: str | None) -> list[File]:
    place = _NEWEST
    if after is not None:
        last = _get(db, user_id, after)
        place = {"created_at": last.created_at, "id": last.id}
    bounds = {"user_id": user_id, "limit": limit}
    return [_file(row) for row in db.execute(SQL["list_files"], place | bounds)]


def _used(db: Connection, user_id: str) -> int:
    return int(db.execute(SQL["sum_files"], {"user_id": user_id}).fetchone()[0])


def _note_use(db: Connection, user_id: str, file_ids: Sequence[str], at: str) -> None:
    for file_id in file_ids:
        db.execute(SQL["note_use_of_file"], {"id": file_id, "user_id": user_id, "at": at})


def _mark_deleted(db: Connection, user_id: str, file_id: str) -> File:
    _lock(db, user_id)
    file = msgspec.structs.replace(_get(db, user_id, file_id), deleted=True)
    db.execute(update("files", ("deleted",), ("id",)), {"deleted": 1, "id": file.id})
    return file


def _lock(db: Connection, user_id: str) -> None:
    """For who writes what it has read: the user's files stay as they are meanwhile."""
    db.lock(f"files of {user_id}")


def _row(file: File) -> Row:
    row = msgspec.structs.asdict(file)
    row |= {name: int(row[name]) for name in _FLAGS}
    return row | {"metadata": msgspec.json.encode(file.metadata).decode()}


def _file(row: tuple[Any, ...]) -> File:
    values = dict(zip(_COLUMNS, row, strict=True))
    values |= {name: bool(values[name]) for name in _FLAGS}
    return File(**(values | {"metadata": msgspec.json.decode(values["metadata"])}))
