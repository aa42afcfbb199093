"""What goes back to Claude, over the whole server: unchanged, or repaired and recorded."""

import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.events.kinds import HistoryRepaired, Message
from turnlog.events.rows.record import stamped
from turnlog.simulator import RawBlock, RedactedThinking, Reply, SimulatedClaude, Thinking


@tool
async def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture
def sim():
    return SimulatedClaude(pace=0)


@pytest.fixture
def talk(sim, migrated):
    """One turn for each agent in one session, the server started anew for each. Gives the log."""

    async def run(*agents):
        session = None
        async with sim.serve() as url:
            for agent in agents:
                settings = Settings(api_key="k", base_url=url, data=str(migrated))
                app = create_app([agent], settings=settings)
                async with app:
                    result = await app.run_turn("Go on.", session_id=session, enable_thinking=True)
                    assert result.success, result.error
                    session = result.session_id
                    evidence = await app.store.evidence(session)
        return [stamped(row).event for row in evidence.log]

    return run


def thoughts(request):
    """The thoughts that are told in a request, message by message."""
    return [
        [block["type"] for block in message["content"] if "thinking" in block["type"]]
        for message in request["messages"]
        if message["role"] == "assistant"
    ]


BOTH = Reply(Thinking("Hm."), RedactedThinking("EmwK"), "One.")
HELPER = Agent("a", prompt="Help.")
OTHERS = {
    "prompt": Agent("a", prompt="Help more."),
    "tools": Agent("a", prompt="Help.", tools=[look]),
    "model": Agent("a", prompt="Help.", model="claude-opus-5-5"),
}


async def test_thoughts_go_back_while_nothing_before_them_changes(sim, talk):
    sim.queue(BOTH, Reply("Two."), Reply("Three."))
    await talk(HELPER, HELPER, HELPER)
    assert [thoughts(r) for r in sim.requests[1:]] == [
        [["thinking", "redacted_thinking"]],
        [["thinking", "redacted_thinking"], []],
    ]


@pytest.mark.parametrize("changed", OTHERS.values(), ids=OTHERS)
async def test_thoughts_from_before_a_change_are_left_out(sim, talk, changed):
    sim.queue(BOTH, Reply(Thinking("So."), "Two."), Reply("Three."), Reply("Four."))
    await talk(HELPER, changed, changed, HELPER)
    assert [thoughts(request) for request in sim.requests[1:]] == [
        [[]],
        [[], ["thinking"]],
        [["thinking", "redacted_thinking"], [], []],
    ]
    assert sim.refused == []


async def test_every_answer_is_kept_with_what_it_came_after(sim, talk):
    sim.queue(*[Reply("Yes.")] * 3)
    log = await talk(HELPER, OTHERS["prompt"], HELPER)
    first, second, third = [event.prefix for event in log if isinstance(event, Message)]
    assert first == third != second
    assert len(first) == 16


async def test_a_repair_is_recorded_once_for_many_turns(sim, talk):
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    sim.queue(Reply("I search.", RawBlock(search), stop_reason="max_tokens"))
    sim.queue(*[Reply("Yes.")] * 3)
    log = await talk(*[HELPER] * 4)
    assert [event.repairs for event in log if isinstance(event, HistoryRepaired)] == [
        [{"rule": "server-tools-are-whole", "place": "messages.1.content.1"}]
    ]
    assert sim.refused == []
    assert sim.requests[-1]["messages"][1]["content"] == [{"type": "text", "text": "I search."}]
