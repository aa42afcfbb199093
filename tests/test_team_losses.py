"""A process that is lost at any moment of a team's turn: nothing lost, nothing twice.

`lose` is what kill -9 and a restart are for the log. `test_team_kill.py` kills real processes.
"""

import asyncio

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from team_scripts import AGENTS, RAN, Team, plans, unanswered

from turnlog import Settings, create_app
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import SimulatedClaude
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.golden.teams import lose

pytestmark = pytest.mark.slow
USER = "local"
ENGINES = st.sampled_from(["claude", "langgraph", "openai_agents"])
BUSY = {
    "supervisor": [("hand to all",), ("hand", "erp")],
    "erp": [("write",), ("say and look",), ("look",)],
    "tasks": [("say and look",), ("write",)],
}


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(plan=plans, moments=st.lists(st.integers(0, 25), min_size=1, max_size=3), engine=ENGINES)
@example(plan=BUSY, moments=[1, 3, 4], engine="claude")
@example(plan=BUSY, moments=[5, 2], engine="langgraph")
@example(plan=BUSY, moments=[7, 3], engine="openai_agents")
async def test_a_turn_survives_the_loss_of_its_process_at_any_moment(plan, moments, engine):
    RAN.clear()
    sim = SimulatedClaude(answer=Team(plan), pace=0)
    async with sim.serve() as url, asyncio.timeout(60):
        chosen = Settings(api_key="test", base_url=url, max_calls=12)
        app = create_app(AGENTS, settings=chosen, store=MemoryStore(), engine=engine)
        async with app:
            session = await app.create_session(USER)
            await lost_at(app, session.id, moments)
            await app.rest()
            evidence = await app.store.evidence(session.id)
            assert prove(evidence).problems == [] and evidence.running == []
            assert unanswered([stamped(row) for row in evidence.log]) == {}
            again = await app.run_turn("And now?", session_id=session.id)
    assert sim.refused == []
    assert all(times == 1 for times in RAN.values())  # no write runs twice
    assert again.events[0].event.type == "user_message_sent"


async def lost_at(app, session_id, moments):
    """Ask; and lose the turn after so many more events were shown, each time."""
    running = asyncio.create_task(app.run_turn("Go", session_id=session_id))
    for moment in moments:
        await shown(app, session_id, moment, running)
        if app._turns._live:
            await lose(app, session_id)
    await running


async def shown(app, session_id, number, running):
    """Returns after so many more events, or when the turn is over."""

    async def follow():
        seen = 0
        async for batch in app.follow(USER, session_id, None):
            seen += len(batch)
            if seen > number:
                return

    following = asyncio.create_task(follow())
    await asyncio.wait([following, running], return_when=asyncio.FIRST_COMPLETED)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
