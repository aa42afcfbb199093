"""What every storage of the demo's tasks promises.

class TestMyTasks(TasksContract):
    @pytest.fixture
    def opened(self):
        ...  # a function: each await of it opens one more handle on the same place
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from turnlog.contrib.tasks.task import MOST_TASKS, Task, Tasks
from turnlog.errors import NotFound, TooLarge

Opened = Callable[[], Awaitable[Tasks]]  # one more handle on the same place
AT, LATER = "2026-11-15T12:00:00.000Z", "2026-11-15T13:00:00.000Z"


async def added(tasks: Tasks, title: str, user_id: str = "alice", key: str | None = None) -> Task:
    return await tasks.add_task(user_id, title=title, description="", at=AT, key=key)


class TasksContract:
    """What users want done."""

    @pytest.fixture
    async def tasks(self, opened: Opened) -> Tasks:
        return await opened()

    async def test_a_task_comes_back_as_it_was_added(self, tasks: Tasks) -> None:
        task = await tasks.add_task("alice", title="Milk", description="Two", at=AT)
        assert (task.title, task.description, task.completed) == ("Milk", "Two", False)
        assert (task.created_at, task.updated_at) == (AT, AT)
        assert await tasks.list_tasks("alice") == [task]

    async def test_tasks_are_listed_oldest_first_and_by_state(self, tasks: Tasks) -> None:
        a, b, c = [await added(tasks, title) for title in "abc"]
        b = await tasks.update_task("alice", b.id, completed=True)
        assert await tasks.list_tasks("alice") == [a, b, c]
        assert await tasks.list_tasks("alice", completed=True) == [b]
        assert await tasks.list_tasks("alice", completed=False) == [a, c]

    async def test_an_id_is_never_used_again(self, tasks: Tasks) -> None:
        first, second = await added(tasks, "a"), await added(tasks, "b")
        await tasks.delete_task("alice", second.id)
        third = await added(tasks, "c")
        assert len({first.id, second.id, third.id}) == 3

    @pytest.mark.parametrize("changes", [{"title": "B", "updated_at": LATER}, {"completed": True}])
    async def test_a_task_changes_in_that_and_nothing_else(
        self, tasks: Tasks, changes: dict[str, Any]
    ) -> None:
        task, other = await added(tasks, "a"), await added(tasks, "b")
        changed = await tasks.update_task("alice", task.id, **changes)
        assert {name: getattr(changed, name) for name in changes} == changes
        assert (changed.id, changed.created_at) == (task.id, AT)
        assert await tasks.list_tasks("alice") == [changed, other]

    async def test_a_deleted_task_is_gone(self, tasks: Tasks) -> None:
        task = await added(tasks, "a")
        assert await tasks.delete_task("alice", task.id) == task
        assert await tasks.list_tasks("alice") == []
        with pytest.raises(NotFound):
            await tasks.delete_task("alice", task.id)

    async def test_someone_elses_task_looks_like_an_unknown_one(self, tasks: Tasks) -> None:
        for title in "abc":
            task = await added(tasks, title)
        for ask in (
            tasks.update_task("bob", task.id, title="x"),
            tasks.delete_task("bob", task.id),
        ):
            with pytest.raises(NotFound, match=f"There is no task {task.id}."):
                await ask
        assert await tasks.list_tasks("bob") == []
        assert [task.title for task in await tasks.list_tasks("alice")] == ["a", "b", "c"]

    async def test_the_same_key_adds_one_task(self, opened: Opened) -> None:
        handles = [await opened(), await opened()]
        made = await asyncio.gather(*(added(tasks, "a", key="k") for tasks in handles * 5))
        assert len({task.id for task in made}) == 1
        assert len(await handles[0].list_tasks("alice")) == 1

    async def test_a_key_is_its_users_own(self, tasks: Tasks) -> None:
        await added(tasks, "hers", key="k")
        assert (await added(tasks, "his", "bob", key="k")).title == "his"
        assert [task.title for task in await tasks.list_tasks("alice")] == ["hers"]

    async def test_nobody_has_tasks_without_end(self, tasks: Tasks) -> None:
        for _ in range(0, MOST_TASKS, 20):  # a pool lets nobody wait for long
            await asyncio.gather(*(added(tasks, "a") for _ in range(20)))
        with pytest.raises(TooLarge):
            await added(tasks, "one more")
        await added(tasks, "bob has room", "bob")
