"""What one user may do: nodes that share a PostgreSQL count together."""

import asyncio

import asyncpg
import pytest
from msgspec.structs import replace

from turnlog.errors import NotStored, TooMany
from turnlog.events.clock import now
from turnlog.stores.postgres.pool import Pool
from turnlog.stores.postgres.store import PostgresStore
from turnlog.testing import samples as s
from turnlog.transports.access.limits import WriteLimits

pytestmark = pytest.mark.slow


async def test_nodes_count_the_messages_with_files_of_a_user_together(database):
    nodes = [PostgresStore(database) for _ in range(2)]
    for node in nodes:
        await node.open()
        node.limit(100, 100, with_files=3)
    file = {"id": "f", "name": "a.png", "mediaType": "image/png", "size": 1, "sha256": "0"}
    results = {}

    async def ask(node, number, user, files):
        await node.create_session(s.new_session(f"s{number}", user))
        turn = replace(s.new_turn(f"t{number}", f"s{number}", user), started_at=now())
        question = replace(s.asked(), files=files)
        outcome = "begun"
        try:
            await node.begin_turn(turn, s.placed(question))
        except TooMany:
            outcome = "too many"
        results.setdefault((user, len(files)), []).append(outcome)

    for n in range(5):
        await ask(nodes[n % 2], 2 * n, "alice", [file])
        await ask(nodes[n % 2], 2 * n + 1, "alice", [])
    await ask(nodes[0], 10, "bob", [file])
    for node in nodes:
        await node.close()
    assert results["alice", 1] == ["begun"] * 3 + ["too many"] * 2
    assert results["alice", 0] == ["begun"] * 5
    assert results["bob", 1] == ["begun"]


async def test_nodes_count_the_turns_of_a_user_together(database):
    nodes = [PostgresStore(database) for _ in range(3)]
    for node in nodes:
        await node.open()
        node.limit(4, 100)
    for n in range(12):
        await nodes[0].create_session(s.new_session(f"s{n}", "alice"))
    starting = [
        nodes[n % 3].begin_turn(s.new_turn(f"t{n}", f"s{n}", "alice"), s.placed(s.asked()))
        for n in range(12)
    ]
    results = await asyncio.gather(*starting, return_exceptions=True)
    for node in nodes:
        await node.close()
    assert sum(isinstance(result, TooMany) for result in results) == 8
    assert [r for r in results if isinstance(r, Exception) and not isinstance(r, TooMany)] == []


async def test_a_turn_that_began_in_the_future_is_not_counted_as_one_of_this_minute(store):
    """A node's clock was wrong. Its user may go on."""
    store.limit(9, 1)
    await store.create_session(s.new_session())
    ahead = replace(s.new_turn("ahead"), started_at="2099-01-01T00:00:00.000Z")
    await store.finish_turn(await store.begin_turn(ahead, s.placed(s.asked())))
    on_time = replace(s.new_turn("now"), started_at=now())
    await store.finish_turn(await store.begin_turn(on_time, s.placed(s.asked())))


CLOCK = """
DROP SCHEMA IF EXISTS by_hand CASCADE;
CREATE SCHEMA by_hand;
CREATE TABLE by_hand.clock AS SELECT TIMESTAMPTZ '2026-11-17 12:00+0' AS moment;
CREATE FUNCTION by_hand.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
AS $$ SELECT moment FROM by_hand.clock $$;
"""


@pytest.fixture
async def nodes(database, db):
    """Three stores, for which the database has a clock that the test sets."""
    await db.execute(CLOCK)
    nodes = [PostgresStore(f"{database}?search_path=public,by_hand,pg_catalog") for _ in range(3)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.close()
    await db.execute("DROP SCHEMA by_hand CASCADE")


async def test_nodes_count_the_changes_of_a_user_together(nodes, db):
    limits = [WriteLimits(60, shared=node.shared_writes) for node in nodes]  # they take 3 at once

    async def changes(user):
        counted = (limits[n % 3].count(user) for n in range(100))
        results = await asyncio.gather(*counted, return_exceptions=True)
        return sum(result is None for result in results)

    await db.execute("INSERT INTO writes SELECT 'alice', 11.5, 0, moment FROM by_hand.clock")
    assert [await changes("alice"), await changes("alice")] == [11, 0]
    await db.execute("UPDATE by_hand.clock SET moment = moment + interval '10 minutes'")
    assert await limits[0].count("alice") is None  # it is full again
    (row,) = await db.fetch("SELECT remaining, taken FROM writes")
    assert tuple(row) == (57, 3)
    assert await limits[1].count("bob") is None  # and everybody has one


async def test_a_clock_that_is_set_back_locks_nobody_out(nodes, db):
    writes = nodes[0].shared_writes

    async def taken(later):
        await db.execute(f"UPDATE by_hand.clock SET moment = moment + interval '{later}'")
        return await writes.take_writes("alice", wanted=60, most=60)

    assert [await taken("0 s"), await taken("-1 day"), await taken("5 s")] == [60, 0, 5]


@pytest.mark.parametrize("error", [asyncpg.DiskFullError, asyncpg.OutOfMemoryError, IOError])
async def test_a_node_counts_by_itself_where_the_database_cannot_write(store, monkeypatch, error):
    async def full(*_):
        raise error("No space left on device.")

    monkeypatch.setattr(Pool, "fetch", full)
    with pytest.raises(NotStored, match="cannot be counted"):
        await store.shared_writes.take_writes("alice", wanted=1, most=1)
    limits = WriteLimits(1, clock=lambda: 0.0, shared=store.shared_writes)
    assert await limits.count("alice") is None
    with pytest.raises(TooMany):
        await limits.count("alice")
