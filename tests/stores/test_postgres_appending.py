"""PostgreSQL: an append is few round trips, and sees what others wrote before it had the lock."""

import asyncio

import pytest

from turnlog.errors import TurnOver
from turnlog.projections.proof import prove
from turnlog.stores.postgres import pool
from turnlog.testing import samples as s
from turnlog.testing.contracts.base import said

pytestmark = pytest.mark.slow
CITATION = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}


async def begun(store):
    await store.create_session(s.new_session())
    return await store.begin_turn(s.new_turn(), s.placed(s.asked()))


@pytest.fixture
def trips(monkeypatch):
    """How often PostgreSQL is asked."""
    asked = []

    def counting(inner):
        async def ask(self, query, *args, **options):
            asked.append(query)
            return await inner(self, query, *args, **options)

        return ask

    for name in ("fetch", "fetchval", "execute"):
        monkeypatch.setattr(pool._Connection, name, counting(getattr(pool._Connection, name)))
    return asked


async def test_an_append_is_one_statement_between_the_lock_and_the_commit(store, trips):
    await store._nodes.fall_silent()
    turn = await begun(store)
    cited = [CITATION] * 3
    asks_for_tools = s.said({"type": "text", "text": "So.", "citations": cited}, s.call("a"))
    for events in ([s.said("Hello.")], [asks_for_tools, s.used("a"), s.approval("ok?", "a")]):
        trips.clear()
        await store.append(turn, s.placed(*events))
        assert [sql.split()[0] for sql in trips] == ["BEGIN", "SELECT", "WITH", "COMMIT"]
    evidence = await store.evidence("s")
    assert len(evidence.tables["message_citations"]) == 3
    assert prove(evidence).problems == []


async def test_an_answer_may_have_more_citations_than_a_statement_has_values(store):
    """PostgreSQL takes 32,767 values; a citation has eleven."""
    turn = await begun(store)
    cited = [
        {"type": "char_location", "cited_text": f"{n}", "document_index": 0} for n in range(3000)
    ]
    await store.append(turn, s.placed(s.said({"type": "text", "text": "So.", "citations": cited})))
    evidence = await store.evidence("s")
    assert len(evidence.tables["message_citations"]) == 3000
    assert prove(evidence).problems == []


async def test_who_waited_for_the_lock_sees_what_was_written_meanwhile(store, db, database):
    """The lease of a turn ends while another change of it waits for the session's lock."""
    turn = await begun(store)
    await db.execute("SELECT pg_advisory_lock(hashtextextended('s', 0))")
    appending = asyncio.create_task(store.append(turn, said(1)))
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while not await db.fetchval(waits):
        await asyncio.sleep(0.01)
    await db.execute("UPDATE turns SET lease = 'of another'")
    await db.execute("SELECT pg_advisory_unlock(hashtextextended('s', 0))")
    with pytest.raises(TurnOver):
        await appending
    assert len((await store.evidence("s")).log) == 1
