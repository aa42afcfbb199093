"""Closed sessions whose contents are in files, on each store that has archives."""

import os
import sqlite3
from contextlib import asynccontextmanager

import asyncpg
import pytest
from stores.evidence import stored

from turnlog.stores.files.folder import FolderBlobs
from turnlog.stores.sql.connection import Conflict
from turnlog.stores.sql.tables.log import records_of
from turnlog.stores.urls import keep_archives, open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import EVERY_PROJECTION

# But for an approval that stays open: a closed session has none.
EVERYTHING = [event for event in EVERY_PROJECTION if getattr(event, "approval_id", "") != "sure?"]


class Archived:
    """A store with a place for archives."""

    @asynccontextmanager
    async def opened(self, place, folder):
        async with open_store(place) as store:
            blobs = FolderBlobs(folder / "archives", alone=False)
            await blobs.open()
            keep_archives(store, blobs)
            yield store

    @pytest.fixture
    async def store(self, place, tmp_path):
        async with self.opened(place, tmp_path) as store:
            yield store

    @pytest.fixture
    async def closed(self, store):
        await close(store)
        return await stored(store, "s")

    async def rows(self, store):
        return await store._look(lambda db: records_of(db, "s"))

    async def execute(self, store, sql):
        return await store._change(lambda db: db.execute(sql))


class OnSqlite:
    REFUSED = (sqlite3.IntegrityError, Conflict)
    NOTHING = "X''"

    async def dies(self, store):
        """The system lets go of a dead process's lock."""
        os.close(store._owners._lock)
        store._owners._lock = os.open(os.devnull, os.O_RDONLY)

    async def erase(self, store, sql):
        """By hand, without the trigger that refuses it."""

        def change(db):
            name = "events_never_change"
            (trigger,) = db.execute(f"SELECT sql FROM sqlite_master WHERE name = '{name}'")
            db.execute(f"DROP TRIGGER {name}")
            db.execute(sql)
            db.execute(trigger[0])

        await store._change(change)

    @pytest.fixture
    def place(self, tmp_path):
        return f"sqlite:{tmp_path}"


class OnPostgres:
    REFUSED = asyncpg.RaiseError
    NOTHING = "''"

    async def dies(self, store):
        """It was last seen long ago."""
        await store._nodes.fall_silent()
        await store._writers.fetch("leave_node", {"id": store._nodes.me})

    async def erase(self, store, sql):
        """By hand, without the triggers that refuse it."""
        db = await asyncpg.connect(store._url)
        try:
            await db.execute("SET session_replication_role = replica")
            await db.execute(sql)
        finally:
            await db.close()

    @pytest.fixture
    def place(self, database):
        return database


async def close(store):
    """A session with everything in it, over and archived."""
    await store.create_session(s.new_session("s"))
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    await store.append(turn, s.placed(*EVERYTHING))
    await store.finish_turn(turn)
    await store.update_session("alice", "s", archived=True)
