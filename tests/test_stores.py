"""Every store keeps the promises of the ports: the contracts, once for each."""

import os
from contextlib import AsyncExitStack

import pytest

from turnlog.buses.memory import MemoryBus
from turnlog.contrib.tasks.memory import MemoryTasks
from turnlog.contrib.tasks.sqlite import SqliteTasks
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.contracts import BusContract, StoreContract, TasksContract
from turnlog.testing.contracts.bus import SMALL
from turnlog.testing.shown_turns import deaf
from turnlog.transports import wire


class TestMemoryStore(StoreContract):
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


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def connected(self):
        buses = []

        async def connect(on_signal):
            buses.append(MemoryBus(wire.encode, beside=buses[0] if buses else None))
            await buses[-1].open(on_signal)
            return buses[-1]

        yield connect
        for bus in buses:
            await bus.close()

    @pytest.fixture
    async def small_bus(self):
        bus = MemoryBus(wire.encode, most_bytes=SMALL)
        await bus.open(deaf)
        yield bus
        await bus.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def opened(self, tmp_path):
        stores = []

        async def open_one():
            stores.append(SqliteStore(tmp_path))
            await stores[-1].open()
            return stores[-1]

        yield open_one
        for store in stores:
            await store.close()

    async def dies(self, store):
        """The system lets go of a dead process's lock; its file stays where it is."""
        os.close(store._owners._lock)
        store._owners._lock = os.open(os.devnull, os.O_RDONLY)


class TestMemoryTasks(TasksContract):
    @pytest.fixture
    def opened(self):
        tasks = MemoryTasks()

        async def open_one():
            return tasks

        return open_one


class TestSqliteTasks(TasksContract):
    @pytest.fixture
    async def opened(self, tmp_path):
        async with AsyncExitStack() as stack:

            async def open_one():
                tasks = SqliteTasks(tmp_path)
                await stack.enter_async_context(tasks)
                return tasks

            yield open_one
