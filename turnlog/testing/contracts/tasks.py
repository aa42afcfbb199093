"""The contract of Tasks."""

import asyncio
from typing import Any

import pytest

from turnlog.errors import NotFound, TooLarge
from turnlog.ports import MOST_TASKS, Store, Task
from turnlog.testing.contracts.base import Contract, Opened

AT, LATER = "2026-11-15T12:00:00.000Z", "2026-11-15T13:00:00.000Z"


async def added(store: Store, title: str, user_id: str = "alice", key: str | None = None) -> Task:
    return await store.add_task(user_id, title=title, description="", at=AT, key=key)


class TasksContract(Contract):
    """What users want done."""

    async def test_a_task_comes_back_as_it_was_added(self, store: Store) -> None:
        task = await store.add_task("alice", title="Milk", description="Two", at=AT)
        assert (task.title, task.description, task.completed) == ("Milk", "Two", False)
        assert (task.created_at, task.updated_at) == (AT, AT)
        assert await store.list_tasks("alice") == [task]

    async def test_tasks_are_listed_oldest_first_and_by_state(self, store: Store) -> None:
        a, b, c = [await added(store, title) for title in "abc"]
        b = await store.update_task("alice", b.id, completed=True)
        assert await store.list_tasks("alice") == [a, b, c]
        assert await store.list_tasks("alice", completed=True) == [b]
        assert await store.list_tasks("alice", completed=False) == [a, c]

    async def test_an_id_is_never_used_again(self, store: Store) -> None:
        first, second = await added(store, "a"), await added(store, "b")
        await store.delete_task("alice", second.id)
        third = await added(store, "c")
        assert len({first.id, second.id, third.id}) == 3

    @pytest.mark.parametrize("changes", [{"title": "B", "updated_at": LATER}, {"completed": True}])
    async def test_a_task_changes_in_that_and_nothing_else(
        self, store: Store, changes: dict[str, Any]
    ) -> None:
        task, other = await added(store, "a"), await added(store, "b")
        changed = await store.update_task("alice", task.id, **changes)
        assert {name: getattr(changed, name) for name in changes} == changes
        assert (changed.id, changed.created_at) == (task.id, AT)
        assert await store.list_tasks("alice") == [changed, other]

    async def test_a_deleted_task_is_gone(self, store: Store) -> None:
        task = await added(store, "a")
        assert await store.delete_task("alice", task.id) == task
        assert await store.list_tasks("alice") == []
        with pytest.raises(NotFound):
            await store.delete_task("alice", task.id)

    async def test_someone_elses_task_looks_like_an_unknown_one(self, store: Store) -> None:
        for title in "abc":
            task = await added(store, title)
        for ask in (
            store.update_task("bob", task.id, title="x"),
            store.delete_task("bob", task.id),
        ):
            with pytest.raises(NotFound, match=f"There is no task {task.id}."):
                await ask
        assert await store.list_tasks("bob") == []
        assert [task.title for task in await store.list_tasks("alice")] == ["a", "b", "c"]

    async def test_the_same_key_adds_one_task(self, opened: Opened) -> None:
        stores = [await opened(), await opened()]
        made = await asyncio.gather(*(added(store, "a", key="k") for store in stores * 5))
        assert len({task.id for task in made}) == 1
        assert len(await stores[0].list_tasks("alice")) == 1

    async def test_a_key_is_its_users_own(self, store: Store) -> None:
        await added(store, "hers", key="k")
        assert (await added(store, "his", "bob", key="k")).title == "his"
        assert [task.title for task in await store.list_tasks("alice")] == ["hers"]

    async def test_nobody_has_tasks_without_end(self, store: Store) -> None:
        await asyncio.gather(*(added(store, "a") for _ in range(MOST_TASKS)))
        with pytest.raises(TooLarge):
            await added(store, "one more")
        await added(store, "bob has room", "bob")
