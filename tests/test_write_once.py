"""kill -9 while tools write: no effect twice, and none reported done that was not."""

import asyncio
import collections
import contextlib
import logging
import os
import random
import secrets
from dataclasses import dataclass

import aiohttp
import pytest

from turnlog.events import kinds as k
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)
LONGEST = 1.2  # seconds until the kill: a write takes about 0.6 after it was asked for
APP = """
import asyncio, os
from turnlog import Agent, ToolContext, create_app, tool
from turnlog.tools.tool import NotDone

def effect(key):
    with open("effects", "a") as file:
        file.write(key + "\\n")
        file.flush()
        os.fsync(file.fileno())

async def write(context):
    await asyncio.sleep(0.2)
    effect(context.tool_use_id)
    await asyncio.sleep(0.2)
    return "written"

@tool(approval="never")
async def write_now(context: ToolContext) -> str:
    "Writes at once."
    return await write(context)

@tool
async def write_when_allowed(context: ToolContext) -> str:
    "Asks first."
    return await write(context)

async def look(args, context):
    done = open("effects").read().split() if os.path.exists("effects") else []
    if context.tool_use_id in done:
        return "written"
    raise NotDone

write_and_tell = tool(approval="never", name="write_and_tell", reconcile=look)(
    write_now.function
)

@tool(writes=False)
async def read_slowly() -> str:
    "May run as often as it likes."
    await asyncio.sleep(0.3)
    return "read"

app = create_app(agents=[Agent("clerk", tools=[
    write_now, write_when_allowed, write_and_tell, read_slowly])])
"""
# Turns of the server that was killed go on beside those that are asked for.
NO_LIMITS = {
    "TURNLOG_TURNS_AT_ONCE": "1000",
    "TURNLOG_MESSAGES_A_MINUTE": "100000",
    "TURNLOG_WRITES_A_MINUTE": "100000",
}
TOOLS = ("write_now", "write_when_allowed", "write_and_tell")


class Model:
    """Calls the tool that the question names, and a reading one beside it."""

    def __init__(self):
        self.asked = asyncio.Event()

    def answer(self, body):
        self.asked.set()
        last = body["messages"][-1]["content"][-1]
        if last["type"] == "tool_result":
            return Reply("Done.")
        return Reply(ToolCall(last["text"]), ToolCall("read_slowly"))


@pytest.fixture
def model():
    return Model()


@pytest.fixture
async def claude(model):
    sim = SimulatedClaude(answer=model.answer, pace=0)
    async with sim.serve() as url:
        yield url
    assert sim.refused == []


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "writing.py").write_text(APP)
    return tmp_path


@dataclass
class Clerk:
    """Somebody who asks for a write, and allows what is asked for."""

    http: aiohttp.ClientSession
    url: str

    async def ask(self, tool):
        async with self.http.post(f"{self.url}/api/sessions") as response:
            session = (await response.json())["id"]
        path = f"{self.url}/api/sessions/{session}/messages"
        async with self.http.post(path, json={"message": tool}) as response:
            assert response.status == 202
        return session

    async def allow_everything(self):
        """Until the server is gone."""
        with contextlib.suppress(aiohttp.ClientError):
            while True:
                await self.allow_what_waits()
                await asyncio.sleep(0.05)

    async def allow_what_waits(self):
        params = {"status": "pending"}
        async with self.http.get(f"{self.url}/api/approvals", params=params) as response:
            waiting = (await response.json())["approvals"]
        for each in waiting:
            path = f"{self.url}/api/approvals/{each['id']}"
            async with self.http.post(path, json={"approved": True}) as response:
                assert response.status in (200, 409)


async def survive(folder, claude, model, *, lives, sessions):
    """Kill that many servers while they write. Returns how the writes ended, by outcome."""
    seed = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
    _log.warning("KILL_SEED=%d repeats this run", seed)
    rng = random.Random(seed)
    asked = []
    async with aiohttp.ClientSession() as http:
        for _ in range(lives):
            async with serving(folder, claude, "writing:app", env=NO_LIMITS) as server:
                clerk = Clerk(http, server.url)
                allowing = asyncio.create_task(clerk.allow_everything())
                model.asked.clear()
                asked += await asyncio.gather(
                    *(clerk.ask(TOOLS[n % len(TOOLS)]) for n in range(sessions))
                )
                await model.asked.wait()  # the first turn of a process takes its time
                await asyncio.sleep(rng.uniform(0.0, LONGEST))  # the random moment
                await server.kill()
                await allowing
        async with serving(folder, claude, "writing:app", env=NO_LIMITS) as server:
            allowing = asyncio.create_task(Clerk(http, server.url).allow_everything())
            await rested(folder, asked)
            await server.kill()
            await allowing
    return await outcomes(folder, asked)


async def rested(folder, sessions):
    """Wait until no turn runs or waits any more."""
    store = SqliteStore(folder / "data")
    await store.open()
    try:
        async with asyncio.timeout(120):
            for session in sessions:
                while (await store.evidence(session)).running:
                    await asyncio.sleep(0.05)
    finally:
        await store.close()


async def outcomes(folder, sessions):
    effects = collections.Counter((folder / "effects").read_text().split())
    assert set(effects.values()) == {1}  # never twice
    counted = collections.Counter()
    store = SqliteStore(folder / "data")
    await store.open()
    for session in sessions:
        counted[await examined(store, session, effects)] += 1
    await store.close()
    _log.warning("%s", dict(counted))
    return counted


async def examined(store, session, effects):
    """How the write of this session ended. What was said of it must be true."""
    evidence = await store.evidence(session)
    assert prove(evidence).problems == []
    events = [stamped(row).event for row in evidence.log]
    results = {e.tool_use_id: e for e in events if isinstance(e, k.ToolResult)}
    writes = [e for e in events if isinstance(e, k.ToolUse) and e.tool_name in TOOLS]
    if not writes:
        return "never asked for"
    (write,) = writes
    result, times = results[write.tool_use_id], effects[write.tool_use_id]
    if result.success:
        assert times == 1
        return "done"
    if result.in_doubt:
        assert write.tool_name != "write_and_tell"  # that one can tell
        return f"in doubt, {'done' if times else 'not done'}"
    assert times == 0
    return "not done"


async def test_no_write_runs_twice_when_the_server_is_killed(folder, claude, model):
    counted = await survive(folder, claude, model, lives=5, sessions=9)
    assert sum(counted.values()) == 45
    assert counted["done"]


@pytest.mark.soak
async def test_no_write_runs_twice_in_many_kills(folder, claude, model):
    counted = await survive(folder, claude, model, lives=30, sessions=9)
    assert sum(counted.values()) == 270
    assert counted["in doubt, done"] and counted["in doubt, not done"]
