"""Where the tasks are kept: beside the log, as it is kept."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from turnlog.contrib.tasks.memory import MemoryTasks
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.contrib.tasks.task import Tasks


class TaskStorage(Tasks, AbstractAsyncContextManager[None], Protocol):
    """Tasks that are there while it is open."""


def tasks_beside(store_url: str, folder: str) -> TaskStorage:
    """In memory beside a store in memory; else a file beside SQLite's, or in `folder`."""
    scheme, _, rest = store_url.partition(":")
    if scheme == "memory":
        return MemoryTasks()
    return SqliteTasks(Path(rest if scheme == "sqlite" else folder))
