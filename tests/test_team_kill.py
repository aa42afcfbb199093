"""kill -9 inside the second agent: the right one goes on, and no write runs twice."""

import asyncio

import aiohttp
import pytest

from turnlog.engines.claude.sse import SseSplitter
from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow  # starts processes

APP = """
import os
from turnlog import Agent, ToolContext, create_app, tool

@tool(writes=False)
async def look(context: ToolContext) -> str:
    "Hangs the first time, so that the process can be killed meanwhile."
    import asyncio
    if not os.path.exists("looked"):
        open("looked", "w").close()
        await asyncio.sleep(60)
    return "seen"

@tool
async def pay(amount: int) -> str:
    "Pays."
    with open("paid", "a") as file:
        file.write(f"{amount}\\n")
    return "paid"

app = create_app(agents=[
    Agent("supervisor", prompt="You are supervisor.", hands_over_to=["erp", "tasks"]),
    Agent("erp", prompt="You are erp.", tools=[look, pay]),
    Agent("tasks", prompt="You are tasks.", tools=[look]),
])
"""


def speaker(body):
    system = body["system"]
    text = system if isinstance(system, str) else system[0]["text"]
    return text.removeprefix("You are ").removesuffix(".")


def answered(body):
    """How many results the agent has been given."""
    blocks = [b for m in body["messages"] for b in m["content"] if isinstance(m["content"], list)]
    return sum(block["type"] == "tool_result" for block in blocks)


def one_after_the_other(body):
    match speaker(body), answered(body):
        case "supervisor", 0:
            return Reply(ToolCall("transfer_to_erp", {"reason": "Look"}))
        case "erp", 0:
            return Reply("Let me look.", ToolCall("look"))
        case "erp", _:
            return Reply("ERP has seen it.")


def both_at_once(body):
    match speaker(body), answered(body):
        case "supervisor", 0:
            calls = [
                ToolCall(f"transfer_to_{name}", {"reason": "Look"}) for name in ("erp", "tasks")
            ]
            return Reply(*calls)
        case "supervisor", _:
            return Reply("Both are done.")
        case "erp", 0:
            return Reply(ToolCall("look"))
        case "erp", _:
            return Reply("ERP has seen it.")
        case "tasks", _:
            return Reply("Nothing to do.")


def paying(body):
    match speaker(body), answered(body):
        case "supervisor", 0:
            return Reply(ToolCall("transfer_to_erp", {"reason": "Pay"}))
        case "erp", 0:
            return Reply(ToolCall("pay", {"amount": 7}))
        case "erp", _:
            return Reply("It is paid.")


SOAK = [pytest.param(name, marks=pytest.mark.soak) for name in ("langgraph", "openai_agents")]


@pytest.fixture(params=["claude", *SOAK])
def folder(tmp_path, request):
    engine = f'create_app(engine="{request.param}", '
    (tmp_path / "team.py").write_text(APP.replace("create_app(", engine))
    return tmp_path


async def events_until(http, url, session, last, cursor=None):
    """What is shown, up to an event of that kind."""
    headers = {"last-event-id": cursor} if cursor else {}
    seen = []
    async with http.get(f"{url}/api/sessions/{session}/stream", headers=headers) as response:
        splitter = SseSplitter()
        async for piece in response.content.iter_any():
            for event in splitter.feed(piece):
                seen.append(event)
                if event["type"] == last:
                    return seen
    raise AssertionError(f"no {last}")


async def new_session(http, url):
    async with http.post(f"{url}/api/sessions") as response:
        return (await response.json())["id"]


async def ask(http, url, session):
    path = f"{url}/api/sessions/{session}/messages"
    async with http.post(path, json={"message": "Please"}) as response:
        assert response.status == 202


async def until_idle(http, url, session):
    """No turn runs or waits in the session."""
    state = ""
    while state != "idle":
        await asyncio.sleep(0.02)
        async with http.get(f"{url}/api/sessions/{session}") as response:
            state = (await response.json())["state"]


async def kept(folder, session):
    store = SqliteStore(folder / "data")
    await store.open()
    try:
        evidence = await store.evidence(session)
        assert prove(evidence).problems == []
        assert evidence.running == []
        return [stamped(row) for row in evidence.log]
    finally:
        await store.close()


SCRIPTS = [one_after_the_other, both_at_once]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
async def test_the_agent_that_was_at_work_goes_on_after_a_kill(folder, script):
    sim = SimulatedClaude(answer=script, pace=0)
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        async with serving(folder, claude, app="team:app") as server:
            session = await new_session(http, server.url)
            await ask(http, server.url, session)
            await events_until(http, server.url, session, "tool_use")
            while not (folder / "looked").exists():
                await asyncio.sleep(0.01)
            await server.kill()
        async with serving(folder, claude, app="team:app") as server, asyncio.timeout(60):
            await until_idle(http, server.url, session)
    log = await kept(folder, session)
    results = [
        entry
        for entry in log
        if isinstance(entry.event, k.ToolResult) and not entry.envelope.internal
    ]
    assert [(entry.envelope.agent.id, entry.event.result) for entry in results] == [("erp", "seen")]
    said = [
        entry
        for entry in log
        if isinstance(entry.event, k.Message) and entry.turn_id == log[0].turn_id
    ]
    answers = {entry.envelope.agent.id: entry.event.content for entry in said}
    assert answers["erp"] == "ERP has seen it."
    assert answers["supervisor"] == ("Both are done." if script is both_at_once else "")
    assert sim.refused == []


async def test_an_approval_inside_the_second_agent_survives_a_kill_and_pays_once(folder):
    sim = SimulatedClaude(answer=paying, pace=0)
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        async with serving(folder, claude, app="team:app") as server:
            session = await new_session(http, server.url)
            await ask(http, server.url, session)
            await events_until(http, server.url, session, "approval_requested")
            await server.kill()
        async with serving(folder, claude, app="team:app") as server, asyncio.timeout(60):
            async with http.get(f"{server.url}/api/approvals?status=pending") as response:
                (approval,) = (await response.json())["approvals"]
            path = f"{server.url}/api/approvals/{approval['id']}"
            async with http.post(path, json={"approved": True}) as response:
                assert response.status == 200
            await until_idle(http, server.url, session)
    log = await kept(folder, session)
    assert (folder / "paid").read_text() == "7\n"
    first = log[0].turn_id
    said = [entry for entry in log if isinstance(entry.event, k.Message) and entry.turn_id == first]
    assert [entry.event.content for entry in said if entry.envelope.agent.id == "erp"] == [
        "",
        "It is paid.",
    ]
