"""The engine `langgraph`: the team as a graph, on the same parts as the direct loop."""

import asyncio
import subprocess
import sys

import pytest

from turnlog import Agent, tool
from turnlog.errors import BadInput, ConfigError
from turnlog.events import kinds as k
from turnlog.simulator import Reply, Stall, ToolCall
from turnlog.testing.apps import kept_events, scripted_app
from turnlog.turns.answers.engines import Engines


@tool(writes=False)
async def look(at: str = "it") -> str:
    """Look at something."""
    return f"saw {at}"


TEAM = [
    Agent("supervisor", hands_over_to=["erp", "tasks"]),
    Agent("erp", hands_over_to=["supervisor"], tools=[look]),
    Agent("tasks"),
]
TO_ERP, BACK = (ToolCall(f"transfer_to_{name}", {"reason": "go"}) for name in ("erp", "supervisor"))


def test_the_team_is_drawn_with_an_edge_for_each_hand_over():
    from turnlog.engines.langgraph.team import team_graph

    drawn = team_graph({agent.id: agent for agent in TEAM}).get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges if edge.source != "__start__"}
    assert edges - {(agent.id, "__end__") for agent in TEAM} == {
        ("supervisor", "erp"),
        ("supervisor", "tasks"),
        ("erp", "supervisor"),
    }


async def test_agents_that_hand_over_for_ever_are_stopped_by_the_limit_of_calls():
    entries = [Reply(TO_ERP), Reply(BACK)] * 5
    async with scripted_app(*entries, agents=TEAM, engine="langgraph", max_calls=4) as (app, sim):
        result = await app.run_turn("Go")
        assert (result.success, sim.accepted) == (False, 4)
        (error,) = (e.event for e in result.events if isinstance(e.event, k.Error))
        assert error.code == "too_many_calls"


async def test_langgraphs_own_limit_of_steps_is_told_as_ours(monkeypatch):
    from turnlog.engines.langgraph import engine

    monkeypatch.setattr(engine, "STEPS_A_CALL", 0.1)  # fewer steps than calls: never so by itself
    entries = [Reply(ToolCall("look"))] * 9
    agents = [Agent("a", tools=[look])]
    async with scripted_app(*entries, agents=agents, engine="langgraph") as (app, _):
        result = await app.run_turn("Go")
        assert result.error == "The agent went on calling tools without end."


async def test_a_failure_carries_nothing_of_langgraphs_runs():
    from turnlog.engines.langgraph.engine import _as_ours

    async def work():
        failure = BadInput("wrong")
        failure.add_note("During task with name 'model' and id 'e3b0c442'")
        raise failure

    with pytest.raises(BadInput) as caught:
        await _as_ours(work())
    assert getattr(caught.value, "__notes__", []) == []


async def test_a_turn_that_is_stopped_closes_the_call_of_the_model():
    stalled = Reply("Half of it", ending=Stall(4, 10_000.0))
    async with scripted_app(Reply(TO_ERP), stalled, agents=TEAM, engine="langgraph") as (app, sim):
        session = await app.create_session("local")
        running = asyncio.create_task(app.run_turn("Go", session_id=session.id))
        async for batch in app.follow("local", session.id, None):
            if any(isinstance(live.entry.event, k.MessageChunk) for live in batch):
                break
        assert await app.stop_turn("local", session.id)
        await running
        (*_, message) = [
            e for e in await kept_events(app.store, session.id) if isinstance(e, k.Message)
        ]
        assert message.stop_reason == "cancelled" and message.content


def test_an_engine_that_is_not_installed_says_what_to_install():
    known = {"claude": object, "other": object}
    engines = Engines("claude", {}, known, {"other": ("no_such_package", "other")})
    with pytest.raises(BadInput, match=r"pip install 'turnlog\[other\]'"):
        engines.named("other")
    with pytest.raises(ConfigError, match=r"turnlog\[other\]"):
        Engines("other", {}, known, {"other": ("no_such_package", "other")})


@pytest.mark.slow  # starts a process
def test_a_server_that_does_not_use_langgraph_does_not_load_it():
    program = """
import asyncio, sys
from turnlog import Agent, Settings, create_app
async def main():
    async with (app := create_app([Agent("a")], settings=Settings(), store="memory:")):
        assert (await app.run_turn("Hello")).success
asyncio.run(main())
print([name for name in sys.modules if name.partition(".")[0] in ("langgraph", "langchain_core")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
