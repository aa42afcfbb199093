"""The tasks of users in a SQLite file of their own, beside the log."""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from turnlog.contrib.tasks import steps
from turnlog.contrib.tasks.steps import SQL
from turnlog.contrib.tasks.task import Task
from turnlog.errors import StoreUnusable
from turnlog.stores.sqlite.files import connect, connect_reader, make_private
from turnlog.stores.sqlite.migrations import migrate
from turnlog.stores.sqlite.owners import alone
from turnlog.stores.sqlite.readers import Readers
from turnlog.stores.sqlite.writer import Writer

_PACKAGE = "turnlog.contrib.tasks"


class SqliteTasks:
    """Tasks in `tasks.db` under `folder`. It lives from `async with` on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "tasks.db"

    async def __aenter__(self) -> None:
        try:
            make_private(self._path)
            with alone(self._folder / "opening.lock"), closing(connect(self._path)) as db:
                _bring_up_to_date(db, self._folder / "turnlog.db")
        except (sqlite3.DatabaseError, OSError) as error:
            raise StoreUnusable(
                f"The tasks in {str(self._folder)!r} cannot be used: {error}. Restore tasks.db"
                " from a backup, or name another folder with --data."
            ) from error
        self._writer = Writer(connect(self._path))
        self._readers = Readers(partial(connect_reader, self._path))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.close()

    async def add_task(
        self, user_id: str, *, title: str, description: str, at: str, key: str | None = None
    ) -> Task:
        values = {"title": title, "description": description, "at": at}
        return await self._writer.run(lambda db: steps.add(db, user_id, key, values))

    async def list_tasks(self, user_id: str, *, completed: bool | None = None) -> list[Task]:
        return await self._readers.run(lambda db: steps.all_of(db, user_id, completed))

    async def update_task(self, user_id: str, task_id: int, **changes: Any) -> Task:
        return await self._writer.run(lambda db: steps.change(db, user_id, task_id, changes))

    async def delete_task(self, user_id: str, task_id: int) -> Task:
        return await self._writer.run(lambda db: steps.delete(db, user_id, task_id))


# tasks that an older version kept in the store's own database


def _bring_up_to_date(db: sqlite3.Connection, old_path: Path) -> None:
    """Make the tables; a first time also move the tasks here that an older version has left.

    They are removed from their old place once they are on disk here. Who dies in between finds
    them in both, and removes them the next time.
    """
    if not old_path.exists():
        migrate(db, _PACKAGE, {})
        return
    with closing(connect(old_path)) as old:
        has_old = old.execute(SQL["has_old_tasks"]).fetchone() is not None
        migrate(db, _PACKAGE, {1: partial(_copy, old)} if has_old else {})
        if has_old:
            old.executescript(SQL["drop_old_tasks"])


def _copy(old: sqlite3.Connection, db: sqlite3.Connection) -> None:
    db.executemany(SQL["keep_old_task"], old.execute(SQL["list_old_tasks"]))
    db.executemany(SQL["keep_old_number"], old.execute(SQL["list_old_numbers"]))
