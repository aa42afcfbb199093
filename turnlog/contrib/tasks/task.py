"""What users want done: the tasks, and who may keep them."""

from typing import Any, Protocol

from turnlog.events.base import Value

MOST_TASKS = 1_000  # of one user


class Task(Value, frozen=True, kw_only=True):
    """Something that a user wants done. Its id is a number of that user's, never used again."""

    id: int
    user_id: str
    title: str
    description: str
    completed: bool
    created_at: str
    updated_at: str


class Tasks(Protocol):
    """What users want done. Every question names the user; nothing of another's is reached."""

    async def add_task(
        self, user_id: str, *, title: str, description: str, at: str, key: str | None = None
    ) -> Task:
        """A new task. The same `key` again adds nothing, and returns the task it made.

        Raises TooLarge when the user has MOST_TASKS.
        """
        ...

    async def list_tasks(self, user_id: str, *, completed: bool | None = None) -> list[Task]:
        """The user's tasks, oldest first: all, or those that are (not) completed."""
        ...

    async def update_task(self, user_id: str, task_id: int, **changes: Any) -> Task:
        """Set title, description, completed or updated_at. Raises NotFound."""
        ...

    async def delete_task(self, user_id: str, task_id: int) -> Task:
        """Remove the task and return it as it was. Raises NotFound."""
        ...
