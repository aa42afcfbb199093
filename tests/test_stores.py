"""Every store keeps the promises of the ports: the contracts, once for each."""

import os
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from turnlog.contrib.tasks.memory import MemoryTasks
from turnlog.contrib.tasks.postgres import PostgresTasks
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.errors import StoreUnusable
from turnlog.stores import texts
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.postgres.store import PostgresStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import samples as s
from turnlog.testing.contracts import StoreContract, TasksContract


class OurStoreContract(StoreContract):
    """What ours promise beyond the ports: how far back a search in texts goes."""

    @pytest.mark.parametrize(
        ("bounds", "asked", "answered"),
        [
            ({}, "ba", "ba"),
            ({"sessions": 1}, "b", "b"),
            ({"events": 1}, "", "ba"),
            ({"size": "the newest answer"}, "", "b"),
        ],
    )
    async def test_texts_are_searched_within_bounds(
        self, store, monkeypatch, bounds, asked, answered
    ):
        for name in "ab":
            turn = await self.begun(store, name)
            await store.append(turn, s.placed(s.said("Goose.")))
        if "size" in bounds:
            bounds = {"size": len((await store.evidence("b")).log[-1].body)}
        monkeypatch.setattr(texts, "BOUNDS", texts.BOUNDS | bounds)
        for search, found in (("hello", asked), ("goose", answered)):
            listed = await store.list_sessions("alice", limit=9, search=search)
            assert "".join(session.id for session in listed) == found
        assert await store.reaches_all("alice") == (not bounds)
        assert await store.reaches_all("nobody")


@pytest.mark.parametrize(
    "make",
    [SqliteStore, lambda _: PostgresStore("postgresql://nobody")],
    ids=["sqlite", "postgres"],
)
async def test_a_store_that_nobody_opened_says_so(tmp_path, make):
    store = make(tmp_path)
    for asking in (store.create_session(s.new_session()), store.session_ids()):
        with pytest.raises(StoreUnusable, match="The store is not open. Say `async with app:`"):
            await asking


@asynccontextmanager
async def closing_all(make):
    """Opens one more store whenever it is called."""
    stores = []

    async def open_one():
        stores.append(make())
        await stores[-1].open()
        return stores[-1]

    yield open_one
    for store in stores:
        await store.close()


class TestMemoryStore(OurStoreContract):
    @pytest.fixture
    def opened(self):
        stores = []

        async def open_one():
            store = MemoryStore(f"process {len(stores)}", stores[0] if stores else None)
            stores.append(store)
            await store.open()
            return store

        return open_one

    async def dies(self, store):
        await store.close()


class TestSqliteStore(OurStoreContract):
    @pytest.fixture
    async def opened(self, migrated):
        async with closing_all(lambda: SqliteStore(migrated)) as open_one:
            yield open_one

    async def dies(self, store):
        """The system lets go of a dead process's lock; its file stays where it is."""
        os.close(store._owners._lock)
        store._owners._lock = os.open(os.devnull, os.O_RDONLY)


@pytest.mark.slow
class TestPostgresStore(OurStoreContract):
    @pytest.fixture
    async def opened(self, database):
        async with closing_all(lambda: PostgresStore(database)) as open_one:
            yield open_one

    async def dies(self, store):
        """It was last seen long ago."""
        await store._nodes.fall_silent()
        await store._writers.fetch("leave_node", {"id": store._nodes.me})


class TestMemoryTasks(TasksContract):
    @pytest.fixture
    def opened(self):
        tasks = MemoryTasks()

        async def open_one():
            return tasks

        return open_one


@pytest.mark.slow
class TestPostgresTasks(TasksContract):
    @pytest.fixture
    async def opened(self, database):
        async with AsyncExitStack() as stack:

            async def open_one():
                store = PostgresStore(database)
                await store.open()
                stack.push_async_callback(store.close)
                tasks = PostgresTasks(store)
                await stack.enter_async_context(tasks)
                return tasks

            yield open_one


class TestSqliteTasks(TasksContract):
    @pytest.fixture
    async def opened(self, tmp_path):
        async with AsyncExitStack() as stack:

            async def open_one():
                tasks = SqliteTasks(tmp_path)
                await stack.enter_async_context(tasks)
                return tasks

            yield open_one
