"""The tasks of users, in dictionaries."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnlog.contrib.tasks.task import MOST_TASKS, Task
from turnlog.errors import NotFound, TooLarge


@dataclass
class _Own:
    """What one user has."""

    tasks: dict[int, Task] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)  # the call that added a task -> its id
    last: int = 0


class MemoryTasks:
    """Tasks without a disk."""

    def __init__(self) -> None:
        self._users: dict[str, _Own] = {}

    async def __aenter__(self) -> None:
        """There is nothing to open."""

    async def __aexit__(self, *exc: object) -> None:
        """Nor to close: they go with the process."""

    async def add_task(
        self, user_id: str, *, title: str, description: str, at: str, key: str | None = None
    ) -> Task:
        own = self._users.setdefault(user_id, _Own())
        if key is not None and own.keys.get(key) in own.tasks:
            return own.tasks[own.keys[key]]
        if len(own.tasks) >= MOST_TASKS:
            raise TooLarge(f"There are {MOST_TASKS} tasks already: delete some first.")
        own.last += 1
        own.keys |= {} if key is None else {key: own.last}
        own.tasks[own.last] = Task(
            id=own.last,
            user_id=user_id,
            title=title,
            description=description,
            completed=False,
            created_at=at,
            updated_at=at,
        )
        return own.tasks[own.last]

    async def list_tasks(self, user_id: str, *, completed: bool | None = None) -> list[Task]:
        mine = self._users.get(user_id, _Own()).tasks.values()
        return [task for task in mine if completed in (None, task.completed)]

    async def update_task(self, user_id: str, task_id: int, **changes: Any) -> Task:
        tasks = self._holding(user_id, task_id)
        tasks[task_id] = msgspec.structs.replace(tasks[task_id], **changes)
        return tasks[task_id]

    async def delete_task(self, user_id: str, task_id: int) -> Task:
        return self._holding(user_id, task_id).pop(task_id)

    def _holding(self, user_id: str, task_id: int) -> dict[int, Task]:
        tasks = self._users.get(user_id, _Own()).tasks
        if task_id not in tasks:
            raise NotFound(f"There is no task {task_id}.")
        return tasks
