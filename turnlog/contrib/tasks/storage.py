"""Where the tasks are kept: beside the log, as it is kept."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from turnlog.contrib.tasks.memory import MemoryTasks
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.contrib.tasks.task import Tasks
from turnlog.ports import Store


class TaskStorage(Tasks, AbstractAsyncContextManager[None], Protocol):
    """Tasks that are there while it is open."""


def tasks_beside(store: Store, folder: str) -> TaskStorage:
    """In memory beside a store in memory, in the same database; else a file in `folder`."""
    scheme, _, rest = store.url.partition(":")
    if scheme == "postgresql":
        from turnlog.contrib.tasks.postgres import PostgresTasks
        from turnlog.stores.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            return PostgresTasks(store)
    if scheme == "memory":
        return MemoryTasks()
    return SqliteTasks(Path(rest if scheme == "sqlite" else folder))
