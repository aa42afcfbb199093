"""Times of rows beside the log: they may be of another node, and are no forgery by that."""

import pytest
from msgspec.structs import replace

from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s

SESSION = "table: sessions s: created_at is after its first event"
CALL = "table: tool_runs a: created_at is before its call"
TURN = "table: turns s.t0: started_at not as the log has it"


@pytest.fixture
async def evidence():
    store = MemoryStore()
    await s.keep(store, [s.asked(), s.said("Hello.")])
    return await store.evidence("s")


@pytest.mark.parametrize(
    ("made_at", "problems"),
    [
        ("2020-01-01T00:00:00.000Z", []),
        ("2026-11-15T12:01:00.000Z", []),  # clocks of two nodes: the first event is of 12:00
        ("2026-11-15T12:01:00.001Z", [SESSION]),
        ("tomorrow", [SESSION]),
        ("2026-11-15T12:00:00.000", [SESSION]),  # of no zone
    ],
)
async def test_a_session_may_be_a_minute_younger_than_its_first_event(evidence, made_at, problems):
    session = replace(evidence.session, created_at=made_at)
    assert prove(evidence._replace(session=session)).problems == problems


@pytest.mark.parametrize(
    ("began_at", "problems"),
    [
        ("2999-01-01T00:00:00.000Z", []),  # after a person was asked, however long that took
        ("2026-11-15T11:59:00.000Z", []),  # on another node, whose clock is behind
        ("2026-11-15T11:58:59.999Z", [CALL]),
        ("2026-11-15T12:00:00.000Zx", [CALL]),
    ],
)
async def test_a_call_may_begin_a_minute_before_it_was_asked_for(began_at, problems):
    store = MemoryStore()
    await store.create_session(s.new_session())
    turn = await store.begin_turn(s.new_turn(), s.placed(s.asked()))
    call = [s.said(s.call("a"), stop="tool_use"), s.used("a")]
    await store.append(turn, s.placed(*call, first_index=1))
    await store.start_tools(turn, [s.started("a")])
    evidence = await store.evidence("s")
    (row,) = evidence.tables["tool_runs"]
    tables = evidence.tables | {"tool_runs": [row | {"created_at": began_at}]}
    assert prove(evidence._replace(tables=tables)).problems == problems


async def test_a_turn_that_began_at_no_time_is_told(evidence):
    turn = replace(evidence.turns[0], started_at="tomorrow")
    assert prove(evidence._replace(turns=[turn])).problems == [TURN]
