"""A database of PostgreSQL, through our store and without it."""

import asyncpg
import pytest

from turnlog.stores.urls import open_store


@pytest.fixture
async def store(database):
    async with open_store(database) as store:
        yield store


@pytest.fixture
async def db(database):
    db = await asyncpg.connect(database)
    yield db
    await db.close()
