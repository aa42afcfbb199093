"""A replica takes over: what was acknowledged is there, and what nobody knows is not guessed."""

import asyncio

import asyncpg
import pytest

from turnlog.errors import OutcomeUnknown, TurnOver
from turnlog.events.rows.seal import Seals
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.sql.tables import log
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import said
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.proxy import Proxy

pytestmark = pytest.mark.slow


@pytest.fixture
async def pair(monkeypatch):
    """A database, its synchronous replica, and the wire that leads to the first of them."""
    monkeypatch.setattr(pool, "PATIENCE", 600.0)  # however long they take
    servers = [Postgres()]
    try:
        servers[0].start()
        servers.append(Postgres(replica_of=servers[0]))
        servers[1].start()
        async with Proxy([("127.0.0.1", servers[0].port)]).serve() as wire:
            yield *servers, wire
    finally:
        for server in servers:
            server.close()


async def waits_for_replica(server, names="*"):
    """Whether a commit is answered when the replica has it, too."""
    db = await asyncpg.connect(server.url)
    await db.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    await db.execute("SELECT pg_reload_conf()")
    there = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    async with asyncio.timeout(60):
        while names and not await db.fetchval(there):
            await asyncio.sleep(0.02)
    await db.close()


async def take_over(first, second, wire):
    first.server.kill()
    await asyncio.to_thread(second.promote)
    wire.targets[0] = ("127.0.0.1", second.port)
    wire.heal()


def through(wire, server):
    return server.url.replace(f":{server.port}/", f":{wire.port}/")


async def begun(store):
    await store.create_session(s.new_session())
    return await store.begin_turn(s.new_turn(), s.placed(s.asked()))


@pytest.mark.soak
async def test_a_turn_goes_on_when_its_replica_takes_over(pair):
    first, second, wire = pair
    await waits_for_replica(first)
    async with open_store(through(wire, first)) as store:
        turn = await begun(store)
        assert [await store.append(turn, said(1)) for _ in range(5)] == [1, 2, 3, 4, 5]
        taking_over = asyncio.create_task(take_over(first, second, wire))
        assert [await store.append(turn, said(1)) for _ in range(5)] == [6, 7, 8, 9, 10]
        await taking_over
        await store.finish_turn(turn)
        assert prove(await store.evidence("s")).problems == []


KEPT = [pytest.param(True, marks=pytest.mark.soak), False]
KEPT_OR_NOT = ["with the commit", "without the commit"]


@pytest.fixture
def lost(pair, monkeypatch):
    """What is called last before a replica takes over, with this commit or without it."""
    first, second, wire = pair

    def lose(name, query_of_commit, kept):
        inner, left = getattr(asyncpg.Connection, name), [1]

        async def breaking(self, query, *args, **options):
            result = await inner(self, query, *args, **options)
            if query == query_of_commit and left and left.pop():
                if not kept:
                    first.server.kill()
                    await asyncio.to_thread(second.start)
                await take_over(first, second, wire)
                await others(second)
                raise ConnectionResetError
            return result

        monkeypatch.setattr(pool._Connection, name, breaking)

    return lose


async def with_replica(pair, store, kept):
    """A turn that runs. What comes next goes to the replica, or does not."""
    first, second, _ = pair
    await waits_for_replica(first)
    turn = await begun(store)
    if not kept:
        second.server.kill()
        await waits_for_replica(first, "")
    return turn


@pytest.mark.parametrize("kept", KEPT, ids=KEPT_OR_NOT)
async def test_a_statement_that_was_lost_on_the_way_is_looked_for_in_the_log(pair, lost, kept):
    first, _, wire = pair
    async with open_store(through(wire, first)) as store:
        turn = await with_replica(pair, store, kept)
        lost("fetchmany", SQL["write_turn"], kept)
        assert [await store.append(turn, said(1)) for _ in range(2)] == [1, 2]
        await store.finish_turn(turn)
        assert prove(await store.evidence("s")).problems == []


@pytest.mark.parametrize("kept", KEPT, ids=KEPT_OR_NOT)
async def test_a_commit_that_was_lost_on_the_way_is_not_guessed(pair, lost, kept):
    """The replica counts transactions anew: by their number it would name another one."""
    first, _, wire = pair
    async with open_store(through(wire, first)) as store:
        turn = await with_replica(pair, store, kept)
        lost("execute", SQL["commit"], kept)
        with pytest.raises(OutcomeUnknown, match="nobody can tell"):
            await store.change(lambda db: log.append(db, turn, said(1), Seals()))
        with pytest.raises(TurnOver):
            await store.append(turn, said(1))
        (taken,) = await store.claim_abandoned()
        number = len((await store.evidence("s")).log)
        assert number == 1 + kept
        assert await store.append(taken, said(1)) == number
        await store.finish_turn(taken)
        assert prove(await store.evidence("s")).problems == []


async def others(server):
    """Transactions after it, so that its number is somebody's."""
    db = await asyncpg.connect(server.url)
    for _ in range(20):
        await db.execute("SELECT pg_current_xact_id()")
    await db.close()
