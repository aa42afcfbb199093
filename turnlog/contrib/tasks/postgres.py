"""The tasks of users in PostgreSQL, beside the log: the same on every node."""

from importlib import resources
from types import TracebackType
from typing import Any

from turnlog.contrib.tasks import steps
from turnlog.contrib.tasks.task import Task
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sql.connection import Conflict


class PostgresTasks:
    """Tasks in the database of a store, while that is open."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def __aenter__(self) -> None:
        tables = resources.files("turnlog.contrib.tasks").joinpath("postgres.sql")
        await self._store.make_tables(tables.read_text())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """The store closes its connections."""

    async def add_task(
        self, user_id: str, *, title: str, description: str, at: str, key: str | None = None
    ) -> Task:
        values = {"title": title, "description": description, "at": at}
        try:
            return await self._store.change(lambda db: steps.add(db, user_id, key, values))
        except Conflict:  # the same call came twice at once: now the task is there
            return await self._store.change(lambda db: steps.add(db, user_id, key, values))

    async def list_tasks(self, user_id: str, *, completed: bool | None = None) -> list[Task]:
        return await self._store.look(lambda db: steps.all_of(db, user_id, completed))

    async def update_task(self, user_id: str, task_id: int, **changes: Any) -> Task:
        return await self._store.change(lambda db: steps.change(db, user_id, task_id, changes))

    async def delete_task(self, user_id: str, task_id: int) -> Task:
        return await self._store.change(lambda db: steps.delete(db, user_id, task_id))
