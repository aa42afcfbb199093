"""PostgreSQL: a change of a turn is one statement, and changes of many turns are one commit."""

import asyncio
from contextlib import suppress

import asyncpg
import pytest
from msgspec.structs import replace
from stores.wire import begun, carry_out, under_way

from turnlog.errors import MessageIdTaken, StoreUnusable, TurnOver
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool
from turnlog.stores.postgres.statements import SQL
from turnlog.stores.urls import open_store
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import said

pytestmark = pytest.mark.slow
CITATION = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}


def every_change(turn):
    """What happens to a turn until it waits, each with the store's method."""
    cited = {"type": "text", "text": "So.", "citations": [CITATION] * 3}
    asks = s.said(cited, s.call("a"), s.call("b"), stop="tool_use")
    return [
        ("add_draft", turn, b"half"),
        ("append", turn, s.placed(asks, s.used("a"), s.used("b"))),
        ("start_tools", turn, [s.started("a")]),
        ("append", turn, s.placed(s.result("a"))),
        ("append", turn, s.placed(s.approval("ok?", "b"))),
        ("suspend_turn", turn),
    ]


def rest_of_changes(turn):
    """And until it is over."""
    return [
        ("append", turn, s.placed(s.result("b"))),
        ("append", turn, s.placed(s.searched(2)), s.completed()),
    ]


async def decided(store):
    """Its turn, once somebody has decided."""
    turn = await store.claim_waiting("alice", "s")
    await store.annotate(turn, s.placed(s.decision("ok?")))
    return turn


# one statement


async def test_every_change_of_a_turn_is_one_statement(store, wire):
    await store._nodes.fall_silent()
    await store.create_session(replace(s.new_session(), title=""))
    wire.asked.clear()
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()), "Its name")
    for change in every_change(turn):
        await carry_out(store, change)
    assert wire.asked == [SQL["write_turn"]] * 7
    turn = await decided(store)
    wire.asked.clear()
    for change in rest_of_changes(turn):
        await carry_out(store, change)
    assert wire.asked == [SQL["write_turn"]] * 3  # the decision moved the end of the log
    evidence = await store.evidence("s")
    assert len(evidence.tables["message_citations"]) == 3
    assert (evidence.session.title, evidence.session.searches) == ("Its name", 2)
    assert prove(evidence).problems == []


async def test_an_answer_may_have_very_many_citations(store, wire):
    turn = await begun(store)
    cited = [
        {"type": "char_location", "cited_text": f"{n}", "document_index": 0} for n in range(3000)
    ]
    await store.append(turn, s.placed(s.said({"type": "text", "text": "So.", "citations": cited})))
    evidence = await store.evidence("s")
    assert len(evidence.tables["message_citations"]) == 3000
    assert prove(evidence).problems == []


async def test_who_writes_after_another_node_is_told_where_the_log_ends(store, wire, database):
    await store._nodes.fall_silent()
    turn = await begun(store)
    async with open_store(database) as other:
        await other._nodes.fall_silent()
        wire.asked.clear()
        assert await other.annotate(turn, said(2)) == 1
        assert await store.append(turn, said(1)) == 3
        assert await store.append(turn, said(1)) == 4
        assert wire.asked == [SQL["write_turn"]] * 5
    assert prove(await store.evidence("s")).problems == []


async def test_what_the_function_looks_for_it_finds_by_an_index(store, wire, db):
    """The statements in it are seen by nobody else: see test_postgres_plans.py."""
    turn = await begun(store)
    for change in every_change(turn):
        await carry_out(store, change)
    (question,) = wire.batches[0]
    async with db.transaction():
        await db.execute("SET LOCAL enable_seqscan = off")
        await db.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        for (values,) in wire.batches:
            for again in (False, True):
                await db.fetchrow(SQL["write_turn"], again, *values[1:])
        new = ["new", *question[2:3], "", question[4].replace("t-s", "new"), *question[5:]]
        await db.fetchrow(SQL["write_turn"], False, *new)
        scans = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE seq_scan > 0"
        assert await db.fetch(scans) == []


# one commit


async def test_changes_that_wait_share_a_transaction(one_writer, wire, db):
    turns = [await begun(one_writer, f"s{n}") for n in range(10)]
    wire.gate.clear()
    wire.batches.clear()
    first = await under_way(one_writer, ("append", turns[0], said(1)))
    rest = await under_way(one_writer, *(("append", turn, said(1)) for turn in turns * 2))
    wire.gate.set()
    assert await asyncio.gather(*first, *rest) == [1] + [2] + [1] * 9 + [3] + [2] * 9
    assert [len(batch) for batch in wire.batches] == [1, 10, 10]
    commits = await db.fetchval("SELECT count(DISTINCT xmin::text) FROM events WHERE seq > 0")
    assert commits == 3


SPOILED = {"by the server": {"event_id": "\0"}, "before it is sent": {"index": 2**70}}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED.keys())
async def test_one_that_is_refused_does_not_fail_the_others(one_writer, wire, db, spoiled):
    fenced, taken, broken, *good = [await begun(one_writer, name) for name in "abcdef"]
    await one_writer.append(good[0], s.placed(s.said("First.", id="msg_1")))
    await db.execute("UPDATE turns SET lease = 'of another' WHERE id = $1", fenced.id)
    wire.gate.clear()
    tasks = await under_way(
        one_writer,
        ("append", fenced, said(1)),
        ("append", taken, s.placed(s.said("Again.", id="msg_1"))),
        ("append", broken, [replace(said(1)[0], **spoiled)]),
        *(("append", turn, said(1)) for turn in good),
    )
    wire.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results[:2]] == [TurnOver, MessageIdTaken]
    assert isinstance(results[2], (asyncpg.PostgresError, asyncpg.DataError))
    assert results[3:] == [2, 1, 1]
    for turn in (fenced, taken, broken, *good):
        assert prove(await one_writer.evidence(turn.session_id)).problems == []


async def test_a_session_that_another_node_holds_does_not_hold_up_the_others(
    one_writer, db, monkeypatch
):
    """Its lease ends while a change of it waits for the lock."""
    monkeypatch.setattr(pool, "PATIENCE", 600.0)
    held, free = [await begun(one_writer, name) for name in ("held", "free")]
    await db.execute("SELECT pg_advisory_lock(hashtextextended('held', 0))")
    appending = asyncio.ensure_future(one_writer.append(held, said(1)))
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with asyncio.timeout(60):
        while not await db.fetchval(waits):
            await asyncio.sleep(0.01)
    assert await one_writer.append(free, said(1)) == 1
    await db.execute("UPDATE turns SET lease = 'of another' WHERE id = $1", held.id)
    await db.execute("SELECT pg_advisory_unlock(hashtextextended('held', 0))")
    with pytest.raises(TurnOver):
        await appending
    assert len((await one_writer.evidence("held")).log) == 1


async def test_who_is_cancelled_stops_waiting_and_is_written_in_order(one_writer, wire):
    turn = await begun(one_writer)
    wire.gate.clear()
    asked = [s.placed(s.said(text)) for text in ("one", "two", "three")]
    tasks = await under_way(one_writer, *(("append", turn, events) for events in asked))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    wire.gate.set()
    await one_writer.finish_turn(turn)
    log = await one_writer.read("alice", "s")
    assert [entry.event.content for entry in log[1:]] == ["one", "two", "three"]


async def test_a_store_that_closes_writes_what_was_given(one_writer, wire, database):
    turns = [await begun(one_writer, f"s{n}") for n in range(5)]
    wire.gate.clear()
    tasks = await under_way(one_writer, *(("append", turn, said(1)) for turn in turns * 2))
    closing = asyncio.create_task(one_writer.close())
    await asyncio.sleep(0)
    wire.gate.set()
    await closing
    assert await asyncio.gather(*tasks) == [1] * 5 + [2] * 5
    with pytest.raises(StoreUnusable, match="not open"):
        await one_writer.append(turns[0], said(1))
    async with open_store(database) as store:
        assert [len((await store.evidence(f"s{n}")).log) for n in range(5)] == [3] * 5


# answers that are lost


async def state_of(store, db):
    drafts = await db.fetch("SELECT turn_id, part, piece FROM drafts ORDER BY turn_id, part")
    turns = await db.fetch("SELECT * FROM turns ORDER BY id")
    return await store.evidence("s"), drafts, turns


@pytest.mark.parametrize("way", ["there", "back"])
async def test_a_change_whose_answer_is_lost_is_done_once(store, wire, db, way):
    """And one that comes to PostgreSQL very late, after it was done again, does nothing."""
    await store.create_session(s.new_session())
    wire.lose = way
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    sent = [wire.batches[-1]]

    async def with_losses(changes):
        for change in changes:
            wire.lose = way
            await carry_out(store, change)
            sent.append(wire.batches[-1])
            before = await state_of(store, db)
            for late in sent:
                with suppress(asyncpg.UniqueViolationError):  # a call that began, begins again
                    await db.fetchmany(SQL["write_turn"], late)
            assert await state_of(store, db) == before

    await with_losses(every_change(turn))
    await with_losses(rest_of_changes(await decided(store)))
    evidence, drafts, turns = await state_of(store, db)
    assert [row.seq for row in evidence.log] == list(range(9))
    assert prove(evidence).problems == []
    assert (drafts, [turn["state"] for turn in turns]) == ([], ["done"])
    assert len(evidence.tables["tool_runs"]) == 1


async def test_all_of_a_batch_learn_what_became_of_them(one_writer, wire, db):
    turns = [await begun(one_writer, f"s{n}") for n in range(6)]
    for way in ("there", "back"):
        await db.execute("UPDATE turns SET lease = 'of another' WHERE id = 't-s5'")
        wire.gate.clear()
        tasks = await under_way(one_writer, *(("append", turn, said(2)) for turn in turns))
        wire.lose = way
        wire.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results[:5] == [1 if way == "there" else 3] * 5
        assert isinstance(results[5], TurnOver)
    for n in range(5):
        evidence = await one_writer.evidence(f"s{n}")
        assert len(evidence.log) == 5 and prove(evidence).problems == []
