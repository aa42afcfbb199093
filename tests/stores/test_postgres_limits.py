"""What one user may do: nodes that share a PostgreSQL count together."""

import asyncio

import pytest
from msgspec.structs import replace

from turnlog.errors import TooMany
from turnlog.events.clock import now
from turnlog.stores.postgres.store import PostgresStore
from turnlog.testing import samples as s
from turnlog.transports.limits import WriteLimits

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


async def test_nodes_count_the_changes_of_a_user_together(database, db):
    """The clock of the bucket is set by hand: so it fills up when the test says so."""
    nodes = [PostgresStore(database) for _ in range(3)]
    for node in nodes:
        await node.open()
    limits = [WriteLimits(60, shared=node.shared_writes) for node in nodes]  # they take 3 at once

    async def changes(user):
        counted = (limits[n % 3].count(user) for n in range(100))
        results = await asyncio.gather(*counted, return_exceptions=True)
        return sum(result is None for result in results)

    tomorrow = "clock_timestamp() + interval '1 day'"
    await db.execute(f"INSERT INTO writes VALUES ('alice', 11.5, 0, {tomorrow})")
    assert [await changes("alice"), await changes("alice")] == [11, 0]
    await db.execute("UPDATE writes SET at = clock_timestamp() - interval '10 minutes'")
    assert await limits[0].count("alice") is None  # it is full again
    (row,) = await db.fetch("SELECT remaining, taken FROM writes")
    assert tuple(row) == (57, 3)
    assert await limits[1].count("bob") is None  # and everybody has one
    for node in nodes:
        await node.close()
