"""A store that only looks: it changes nothing in its folder, and needs no right to.

That is for commands such as `turnlog verify`, on a folder that a server works in, on one that
nobody works in, and on a copy that is write-protected. SQLite makes files of its own to read a
database with a write-ahead log, so there are three ways to open it: see `_Glance.open`.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from turnlog.errors import NotFound, StoreUnusable
from turnlog.stores.sqlite.files import (
    UNUSABLE,
    SqliteConnection,
    add_functions,
    connect,
    open_file,
    unusable,
)
from turnlog.stores.sqlite.migrations import migrate, migrations, refuse_newer, version
from turnlog.stores.sqlite.owners import Owners
from turnlog.stores.sqlite.statements import SQL
from turnlog.stores.sqlite.store import SqliteStore

T = TypeVar("T")


class ReadOnlyStore(SqliteStore):
    """A Store whose every write is refused."""

    async def open(self, *, server: str | None = None) -> None:
        if server is not None:
            raise StoreUnusable("A store that is opened for reading only runs no turns.")
        self._glance = _Glance(self._path, self._owners)
        self._thread = ThreadPoolExecutor(1, "turnlog-reader")
        try:
            await self._look(version)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        self._thread.shutdown()
        self._glance.close()

    async def _look(self, read: Callable[[SqliteConnection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._glance.read(read))

    _look_here = _look

    async def _change(self, work: Callable[[SqliteConnection], Any]) -> Any:
        raise StoreUnusable("This store is opened for reading only.")


class _Files(NamedTuple):
    """What tells whether somebody has written meanwhile."""

    changed_at: int
    size: int
    wal_size: int


class _Glance:
    """A connection that is opened anew when what it sees is not what is there any more."""

    def __init__(self, path: Path, owners: Owners) -> None:
        self._path = path
        self._owners = owners
        self._db: SqliteConnection | None = None
        self._seen: _Files | None = None  # None: SQLite itself keeps the view of one piece
        self._copy: tempfile.TemporaryDirectory[str] | None = None

    def read(self, read: Callable[[SqliteConnection], T]) -> T:
        """What is read is of one piece, also where a server starts or stops meanwhile."""
        while True:
            try:
                db = self._db = self._db or self._open()
                result = read(db)
            except UNUSABLE as error:
                if self._is_current():
                    raise unusable(self._path.parent, error) from error
            else:
                if self._is_current():
                    return result
            self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _open(self) -> SqliteConnection:
        """Where nothing waits in the write-ahead log, the file alone is read, without locks.

        Beside a process that lives, as one more reader. What a dead process has left in the
        write-ahead log, and a database that is older than this program, in a copy of our own.
        """
        self._seen = _files(self._path)
        waits = self._seen.wal_size > 0
        if waits and not self._owners.anybody():
            return self._open_copy()
        db = _connect(self._path, "mode=ro" if waits else "immutable=1")
        known = migrations()[-1][0]
        try:
            refuse_newer(db, known)
            current = version(db) == known
        except BaseException:
            db.close()
            raise
        if waits:
            self._seen = None
        if current:
            return db
        db.close()
        if waits:
            raise StoreUnusable(
                "An older version of turnlog works on this database. Stop it, and run"
                " `turnlog migrate`."
            )
        return self._open_copy()

    def _open_copy(self) -> SqliteConnection:
        self._copy = tempfile.TemporaryDirectory(prefix="turnlog-")
        copy = Path(self._copy.name) / self._path.name
        for end in ("", "-wal"):
            file = self._path.with_name(self._path.name + end)
            with suppress(FileNotFoundError):  # whoever closes the database last takes it away
                shutil.copyfile(file, copy.with_name(copy.name + end))
        with closing(connect(copy)) as db:
            migrate(db)
        return _connect(copy, "mode=ro")

    def _is_current(self) -> bool:
        return self._seen is None or self._seen == _files(self._path)


def _files(path: Path) -> _Files:
    wal, wal_size = path.with_name(path.name + "-wal"), 0
    with suppress(FileNotFoundError):
        wal_size = wal.stat().st_size
    try:
        file = path.stat()
    except FileNotFoundError:
        folder = str(path.parent)
        raise NotFound(
            f"There is no turnlog database in {folder!r}. Name its --data folder."
        ) from None
    return _Files(file.st_mtime_ns, file.st_size, wal_size)


def _connect(path: Path, how: str) -> SqliteConnection:
    uri = f"file:{quote(str(path.absolute()))}?{how}"
    db = open_file(uri, uri=True)
    db.execute(SQL["refuse_writes"])
    add_functions(db)
    return db
