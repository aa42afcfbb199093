"""PostgreSQL: statements of writers are lost at random, or come late; nothing is lost or twice."""

import asyncio
import random
import secrets

import asyncpg
import pytest
from msgspec.structs import replace

from turnlog.events.content import idempotency_key
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SESSIONS, TURNS = 40, 10
KILL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'turnlog' ORDER BY random() LIMIT 1"
)


class Losses:
    """Each statement that writers send may be lost on the way there, or its answer."""

    def __init__(self, dice, monkeypatch):
        self.late = []  # those that were lost, and may arrive after all
        self.count = 0
        fetchmany = pool._Connection.fetchmany

        async def send(connection, query, args, **options):
            fate = dice.random()
            rows = [] if fate < 0.05 else await fetchmany(connection, query, args, **options)
            if fate < 0.1:
                self.count += 1
                self.late.append(args)
                connection.terminate()
                raise ConnectionResetError
            return rows

        monkeypatch.setattr(pool._Connection, "fetchmany", send)


async def talk(stores, session_id, dice, kept):
    """Turns on whichever node. `kept`: what was acknowledged, by its number."""
    await stores[0].create_session(s.new_session(session_id))
    for number in range(TURNS):
        store, turn_id = dice.choice(stores), f"{session_id}-{number}"
        question = s.placed(s.asked())
        turn = await store.begin_turn(s.new_turn(turn_id, session_id), question)
        kept[turn.first_seq] = question
        for call in (f"{turn_id}-{n}" for n in range(dice.randrange(4))):
            await store.add_draft(turn, secrets.token_bytes(8))
            asks = s.placed(s.said(s.call(call), stop="tool_use"), s.used(call))
            kept[await store.append(turn, asks)] = asks
            started = s.started(call)
            key = idempotency_key(session_id, call, started.args_hash)
            await store.start_tools(turn, [replace(started, idempotency_key=key)])
            result = s.placed(s.result(call))
            kept[await store.append(turn, result)] = result
        answer = s.placed(s.said("Done."))
        kept[await store.append(turn, answer, dice.choice([s.completed(), None]))] = answer
        if (await store.newest_turn("alice", session_id)).state == "running":
            await store.finish_turn(turn)


async def make_trouble(db, losses, dice):
    while True:
        await asyncio.sleep(dice.uniform(0, 0.3))
        await db.execute(KILL)
        while losses.late:
            try:
                await db.fetchmany(SQL["write_turn"], losses.late.pop())
            except asyncpg.UniqueViolationError:
                break  # a call that began: all of that batch is refused


async def test_what_was_acknowledged_is_there_once(database, db, monkeypatch, capsys):
    monkeypatch.setattr(pool, "PATIENCE", 600.0)
    seed = secrets.randbits(32)
    with capsys.disabled():
        print(f"\nlosses: seed {seed}")
    dice = random.Random(seed)
    losses = Losses(dice, monkeypatch)
    kept = {f"s{n}": {} for n in range(SESSIONS)}
    async with open_store(database) as a, open_store(database) as b, open_store(database) as c:
        trouble = asyncio.create_task(make_trouble(db, losses, dice))
        await asyncio.gather(*(talk([a, b, c], name, dice, kept[name]) for name in kept))
        trouble.cancel()
        await asyncio.wait([trouble])
        for name, acknowledged in kept.items():
            evidence = await a.evidence(name)
            assert prove(evidence).problems == []
            events = [each for _, batch in sorted(acknowledged.items()) for each in batch]
            assert [row.event_id for row in evidence.log] == [each.event_id for each in events]
    assert losses.count > 20
