"""PostgreSQL: whoever is slow, large, locked or broken holds up nobody else on its writer."""

import asyncio
import logging
from math import inf

import asyncpg
import pytest
from stores.wire import begun, carry_out, under_way

from turnlog.errors import OutcomeUnknown, StoreUnusable, TurnOver
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool, writers
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import said

pytestmark = pytest.mark.slow
GO_AWAY = "ALTER FUNCTION write_turn RENAME TO gone"
COME_BACK = "ALTER FUNCTION gone RENAME TO write_turn"
CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'turnlog'"
    " AND datname = current_database()"
)


def lose(wire, monkeypatch, way):
    """The next change is lost on its way, and the function cannot be asked what became of it."""

    async def fail(*args):
        raise asyncpg.UndefinedFunctionError("function write_turn(...) does not exist")

    monkeypatch.setattr(pool._Connection, "fetchrow", fail)
    wire.lose = way


# what was lost


def changes_of(turn):
    """Each kind of change, with how what it writes is counted."""
    return [
        (("append", turn, s.placed(s.result("a"))), "SELECT count(*) FROM events"),
        (("start_tools", turn, [s.started("a")]), "SELECT count(*) FROM tool_runs"),
        (("add_draft", turn, b"half"), "SELECT count(*) FROM drafts"),
        (("suspend_turn", turn), "SELECT count(*) FROM turns WHERE state = 'waiting'"),
    ]


@pytest.mark.parametrize("way", ["there", "back"])
async def test_what_was_lost_is_written_once_though_the_function_fails_too(
    one_writer, wire, db, monkeypatch, way
):
    turn = await begun(one_writer)
    for change, count in changes_of(turn):
        before = await db.fetchval(count)
        lose(wire, monkeypatch, way)
        await carry_out(one_writer, change)
        assert await db.fetchval(count) == before + 1, change[0]
    assert len((await one_writer.evidence("s")).log) == 2


async def test_a_turn_of_which_nobody_can_tell_is_given_up(one_writer, wire, monkeypatch):
    turn = await begun(one_writer)
    lose(wire, monkeypatch, "back")

    async def fail(*args):
        raise asyncpg.InternalServerError("index is corrupt")

    with monkeypatch.context() as broken:
        broken.setattr(pool.Pool, "change", fail)
        with pytest.raises(OutcomeUnknown):
            await one_writer.append(turn, said(1))
    with pytest.raises(TurnOver):
        await one_writer.append(turn, said(1))
    assert len((await one_writer.evidence("s")).log) == 2


# locks


LOCKS = {
    "of its session": ("sessions", "s0", lambda turn: ("append", turn, s.placed(s.searched(1)))),
    "of its turn": ("turns", "t-s0", lambda turn: ("suspend_turn", turn)),
}


@pytest.mark.parametrize("table, id, change", LOCKS.values(), ids=LOCKS.keys())
async def test_a_locked_row_holds_up_only_who_changes_it(
    one_writer, wire, db, database, monkeypatch, table, id, change
):
    monkeypatch.setattr(pool, "PATIENCE", 600.0)
    turns = [await begun(one_writer, f"s{n}") for n in range(4)]
    wire.gate.clear()
    wire.batches.clear()
    (held,) = await under_way(one_writer, change(turns[0]))
    others = await under_way(one_writer, *(("append", turn, said(1)) for turn in turns[1:]))
    async with db.transaction():
        await db.execute(f"SELECT FROM {table} WHERE id = $1 FOR UPDATE", id)
        async with asyncio.timeout(60):
            while not wire.batches:
                await asyncio.sleep(0.01)
        (values,) = wire.batches[0]
        assert await outcome(database, values) == "refused"
        wire.gate.set()
        assert await asyncio.gather(*others) == [1] * 3
        assert not held.done()
    await held
    for turn in turns:
        assert prove(await one_writer.evidence(turn.session_id)).problems == []


async def outcome(database, values):
    """Of a change, where it does not wait."""
    db = await asyncpg.connect(database, server_settings={"lock_timeout": "60000"})
    try:
        return await db.fetchval(SQL["write_turn"], *values)
    finally:
        await db.close()


async def test_what_waits_for_a_lock_is_written_one_by_one(
    one_writer, wire, db, monkeypatch, caplog
):
    """Another transaction is about to take the id of a message. Nothing was lost: it answered."""
    monkeypatch.setattr(pool, "PATIENCE", 600.0)
    turns = [await begun(one_writer, f"s{n}") for n in range(4)]
    wire.gate.clear()
    tasks = await under_way(
        one_writer,
        ("append", turns[0], s.placed(s.said("Mine.", id="msg_1"))),
        *(("append", turn, said(1)) for turn in turns[1:]),
    )
    taking = db.transaction()
    await taking.start()
    await db.execute("INSERT INTO message_ids VALUES ('msg_1', 'other', 0)")
    wire.gate.set()
    assert await asyncio.gather(*tasks[1:]) == [1] * 3
    await taking.rollback()
    assert await tasks[0] == 1
    assert "refused" in caplog.text and "LockNotAvailable" in caplog.text
    assert not one_writer._writers.given_up


# sizes


async def test_what_is_large_is_sent_apart_and_a_batch_is_about_a_megabyte(one_writer, wire):
    turns = [await begun(one_writer, f"s{n}") for n in range(12)]
    wire.gate.clear()
    first = await under_way(one_writer, ("append", turns[0], said(1)))
    wire.batches.clear()
    large = [
        ("append", turns[10], s.placed(s.said("x" * 300_000))),
        ("start_tools", turns[11], [s.started("a", text="x" * 300_000)]),
    ]
    medium = [("append", turn, s.placed(s.said("x" * 200_000))) for turn in turns[1:10]]
    rest = await under_way(one_writer, *large, *medium)
    wire.gate.set()
    await asyncio.gather(*first, *rest)
    assert [len(batch) for batch in wire.batches] == [5, 4]
    for turn in turns[:-1]:
        assert prove(await one_writer.evidence(turn.session_id)).problems == []


# a function that does not fit


async def test_a_function_that_does_not_fit_is_complained_about_once(
    one_writer, db, caplog, monkeypatch
):
    monkeypatch.setattr(writers, "_QUIET", inf)
    turns = [await begun(one_writer, f"s{n}") for n in range(3)]
    await one_writer._turn_writers.close()  # its connection knows the function already
    await db.execute(GO_AWAY)
    try:
        with caplog.at_level(logging.ERROR):
            for turn in turns:
                assert await one_writer.append(turn, said(1)) == 1
    finally:
        await db.execute(COME_BACK)
    complaints = [each.message for each in caplog.records if "one by one" in each.message]
    assert len(complaints) == 1 and "UndefinedFunctionError" in complaints[0]
    counted = one_writer._turn_writers._writers[0]._metrics.store_commits
    assert 'outcome="refused"} 3' in "\n".join(counted.lines())


@pytest.mark.parametrize("found, why", [("gone", "is missing"), ("other", "takes 1 values")])
async def test_a_schema_that_is_not_ours_is_refused(database, db, found, why):
    await db.execute(GO_AWAY)
    other = "CREATE FUNCTION write_turn(a int) RETURNS int LANGUAGE sql AS 'SELECT a'"
    try:
        if found == "other":
            await db.execute(other)
        with pytest.raises(StoreUnusable, match=f"write_turn of the database {why}"):
            async with open_store(database):
                pass
    finally:
        await db.execute("DROP FUNCTION IF EXISTS write_turn(int)")
        await db.execute(COME_BACK)


# the end


async def test_a_store_that_closes_takes_nothing_more(one_writer, wire, db):
    """Though somebody goes on writing, it closes, and leaves no connection behind."""
    turns = [await begun(one_writer, f"s{n}") for n in range(3)]
    count = 0

    async def go_on(turn):
        nonlocal count
        while True:
            await one_writer.append(turn, said(1))
            count += 1

    writing = [asyncio.create_task(go_on(turn)) for turn in turns]
    async with asyncio.timeout(60):
        while count < 10:
            await asyncio.sleep(0.01)
        await one_writer.close()
        for result in await asyncio.gather(*writing, return_exceptions=True):
            assert isinstance(result, StoreUnusable)
        while await db.fetchval(CONNECTIONS):
            await asyncio.sleep(0.01)
