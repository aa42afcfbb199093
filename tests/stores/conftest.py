"""A database of PostgreSQL, through our store and without it."""

import asyncpg
import pytest
from stores.wire import Wire

from turnlog.stores.postgres.writers import Writers
from turnlog.stores.urls import open_store
from turnlog.telemetry.metrics import Metrics


@pytest.fixture
async def store(database):
    async with open_store(database) as store:
        yield store


@pytest.fixture
async def db(database):
    db = await asyncpg.connect(database)
    yield db
    await db.close()


@pytest.fixture
async def wire(monkeypatch):
    wire = Wire(monkeypatch)
    yield wire
    wire.gate.set()  # a store closes when all is sent


@pytest.fixture
async def one_writer(store, wire):
    store._turn_writers = Writers(store._writers, Metrics(), 1)
    return store
