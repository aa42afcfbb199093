"""kill -9 at random moments of a team: nothing lost, nothing twice, the right agent goes on.

Fifty kills of a real process. `test_team_losses.py` is the quick form of it.
"""

import asyncio
import random

import aiohttp
import pytest
from team_scripts import unanswered
from test_team_kill import ask, kept, new_session, speaker, until_idle

from turnlog.engines.claude.sse import SseSplitter
from turnlog.events import kinds as k
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.testing.server import serving

pytestmark = pytest.mark.soak
KILLS = 50
APP = """
from turnlog import Agent, ToolContext, create_app, tool

@tool(writes=False)
async def look() -> str:
    "Looks."
    return "seen"

@tool(approval="never")
async def pay(context: ToolContext) -> str:
    "Pays."
    with open("paid", "a") as file:
        file.write(f"{context.session_id}\\n")
    return "paid"

app = create_app(engine="ENGINE", agents=[
    Agent("supervisor", prompt="You are supervisor.", hands_over_to=["erp", "tasks"]),
    Agent("erp", prompt="You are erp.", tools=[look, pay]),
    Agent("tasks", prompt="You are tasks.", tools=[look]),
])
"""


def results(body):
    """The names of the tools that the agent has results of, in this turn."""
    blocks = [b for m in body["messages"] for b in m["content"] if isinstance(m["content"], list)]
    names = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    return [names[b["tool_use_id"]] for b in blocks if b["type"] == "tool_result"]


def answer(body):
    done = results(body)
    match speaker(body):
        case "supervisor" if not done:
            calls = [ToolCall(f"transfer_to_{name}", {"reason": "Go"}) for name in ("erp", "tasks")]
            return Reply("I ask both of them.", *calls)
        case "supervisor":
            return Reply("Both are done.")
        case "erp" if "pay" not in done:
            return Reply("I pay now.", ToolCall("pay"))
        case "tasks" if len(done) < 2:
            return Reply("Let me look.", ToolCall("look"))
    return Reply("That is all that there is to say about it.")


async def watch(http, url, session, number):
    """Returns when so many events were shown, or the turn is over."""
    seen = 0
    async with http.get(f"{url}/api/sessions/{session}/stream") as response:
        splitter = SseSplitter()
        async for piece in response.content.iter_any():
            for event in splitter.feed(piece):
                seen += 1
                if seen > number or event["type"] in ("complete", "error"):
                    return


@pytest.mark.parametrize("engine", ["claude", "langgraph", "openai_agents"])
async def test_kills_at_random_moments(tmp_path, engine):
    (tmp_path / "team.py").write_text(APP.replace("ENGINE", engine))
    moments = random.Random(14)
    sim = SimulatedClaude(answer=answer, pace=0.002)
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        sessions = []
        for _ in range(KILLS // 2):
            async with serving(tmp_path, claude, app="team:app") as server:
                for session in sessions[-1:]:
                    async with asyncio.timeout(60):
                        await until_idle(http, server.url, session)
                sessions.append(await new_session(http, server.url))
                await ask(http, server.url, sessions[-1])
                await watch(http, server.url, sessions[-1], moments.randrange(25))
                await server.kill()
        async with serving(tmp_path, claude, app="team:app") as server, asyncio.timeout(60):
            await until_idle(http, server.url, sessions[-1])
    paid = (tmp_path / "paid").read_text().split()
    assert len(paid) == len(set(paid))  # nobody pays twice
    for session in sessions:
        log = await kept(tmp_path, session)  # proven, and nothing runs
        check(log)
    assert sim.refused == []


def check(log):
    """The question is there, each result is its caller's, and the first turn has one end."""
    first = [entry for entry in log if entry.turn_id == log[0].turn_id]
    assert isinstance(first[0].event, k.UserMessageSent)
    assert unanswered(first) == {}
    errors = [entry.event.code for entry in first if isinstance(entry.event, k.Error)]
    assert errors in ([], ["interrupted"])
