"""Three server processes on one PostgreSQL: any of them serves any session."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from redis_servers import REDIS_SERVERS

from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.urls import open_store
from turnlog.testing.servers.cluster import Person, cluster, events_of, until
from turnlog.testing.servers.valkey import Valkey

pytestmark = pytest.mark.slow

LONG = " ".join(f"word-{n}" for n in range(2_000))  # a minute, at this pace
SHORT = " ".join(f"word-{n}" for n in range(30))  # a second
HEALED_WITHIN = 15.0 + 30.0  # seconds, as promised; the rest is for a machine that is busy
APP = """
import asyncio
from pathlib import Path

from turnlog import Agent, create_app, tool

@tool(approval="always")
async def pay(amount: int) -> str:
    "Pay somebody."
    return f"paid {amount}"

@tool(writes=False)
async def wait() -> str:
    "Returns when the test lets it go."
    while not Path(__file__).parent.with_name("go").exists():
        await asyncio.sleep(0.05)
    return "went"

app = create_app(agents=[Agent("helper", prompt="You help.", tools=[pay, wait])])
"""


def answer(body):
    last = body["messages"][-1]["content"][-1]
    if last["type"] == "tool_result":
        return Reply("Done.")
    return {
        "write": Reply(LONG),
        "tell": Reply(SHORT),
        "pay": Reply(ToolCall("pay", {"amount": 5})),
        "wait and pay": Reply(ToolCall("wait"), ToolCall("pay", {"amount": 5})),
    }.get(last["text"], Reply("Fine."))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "office.py").write_text(APP)
    return tmp_path


@pytest.fixture(params=[*REDIS_SERVERS, None])
def redis_url(request):
    """With Redis between the nodes, or with PostgreSQL alone."""
    return request.getfixturevalue(request.param).url if request.param else None


@asynccontextmanager
async def office(folder, database, redis_url, size=3):
    """Nodes, and a person at each of them."""
    sim = SimulatedClaude(answer=answer, pace=0.03)
    async with (
        sim.serve() as claude,
        cluster(
            folder,
            claude,
            "office:app",
            database=database,
            redis=redis_url,
            size=size,
            TURNLOG_MESSAGES_A_MINUTE="100000",  # how many there are depends on the machine
        ) as nodes,
        # A connection that is used again may be closed by the server at that very moment.
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        yield nodes, [Person(http, node.url) for node in nodes.nodes]


async def proven(database, session):
    async with open_store(database, read_only=True) as store:
        evidence = await store.evidence(session)
    assert prove(evidence).problems == []
    return evidence


def shown(events):
    """What a client keeps on its screen."""
    return [(e["type"], e["eventId"]) for e in events if e["persistenceState"] == "persisted"]


async def test_any_node_shows_stops_and_decides(folder, database, redis_url):
    async with office(folder, database, redis_url) as (nodes, (a, b, c)):
        session = await a.session()
        async with b.watch(session) as events:
            turn = await a.send(session, "write")
            seen = await until(events, "message_chunk")  # while it is being written, elsewhere
            assert await c.ask("POST", f"/api/sessions/{session}/stop") == {"stopped": True}
            seen += await until(events, "complete")
        assert {e["turnId"] for e in seen if e["turnId"]} == {turn}
        assert seen[-1]["reason"] == "cancelled"
        assert shown(await c.reload(session)) == shown(seen)

        async with a.watch(session) as events:
            await b.send(session, "pay")
            asked = (await until(events, "approval_requested"))[-1]
            await c.ask("POST", f"/api/approvals/{asked['approvalId']}", {"approved": True})
            done = await until(events, "complete")
        result = next(e for e in done if e["type"] == "tool_result")
        assert (result["success"], result["result"]) == (True, "paid 5")

        async with b.watch(session) as events:  # and goes on at the third node from where it was
            turn = await a.send(session, "tell")
            seen = await until(events, "message_chunk")
            while seen[-1]["turnId"] != turn:  # of the turn before
                seen = await until(events, "message_chunk")
        async with c.watch(session, after=seen[-1]["cursor"]) as events:
            seen += await until(events, "complete")
        text = "".join(e["content"] for e in seen if e["type"] == "message_chunk")
        assert text == seen[-2]["content"] == SHORT
        through_proxy = Person(a._http, nodes.url)
        pages = [shown(await through_proxy.reload(session)) for _ in range(3)]
        assert pages[0] == pages[1] == pages[2]
        await proven(database, session)


async def test_a_decision_reaches_the_node_where_another_tool_still_runs(
    folder, database, redis_url
):
    async with office(folder, database, redis_url, size=2) as (_, (a, b)):
        session = await a.session()
        async with b.watch(session) as events:
            await a.send(session, "wait and pay")
            asked = (await until(events, "approval_requested"))[-1]
            approval = f"/api/approvals/{asked['approvalId']}"
            taken = await b.ask("POST", approval, {"approved": True})
            assert taken["status"] == "approved"
            (folder / "go").touch()
            done = await until(events, "complete")
        results = [e["result"] for e in done if e["type"] == "tool_result"]
        assert results == ["went", "paid 5"]
        evidence = await proven(database, session)
        assert [row.type for row in evidence.log].count("approval_resolved") == 1


@pytest.mark.parametrize("how", ["kill", "hang"])
async def test_a_node_that_dies_or_hangs_loses_its_turn_to_another(folder, database, valkey, how):
    """On its own, within the promised time, while clients only watch."""
    async with office(folder, database, valkey.url, size=2) as (nodes, (a, b)):
        session = await a.session()
        async with b.watch(session) as events:
            await a.send(session, "write")
            seen = await until(events, "message_chunk")
            await _draft_of(database, session)
            in_line = await a.send(session, "hello", onBusy="enqueue")
            since = time.monotonic()
            if how == "kill":
                await nodes.nodes[0].kill()
            else:
                nodes.pause(0)
            seen += await until(events, "error")
            assert time.monotonic() - since < HEALED_WITHIN
            assert seen[-1]["code"] == "interrupted"
            seen += await until(events, "complete")  # the message that waited, on another node
        assert [e["content"] for e in seen if e["type"] == "user_message_sent"] == [
            "write",
            "hello",
        ]
        before = await proven(database, session)
        if how == "hang":
            nodes.go_on(0)
            await nodes.nodes[0].ready()
            stop = await a.ask("POST", f"/api/sessions/{session}/stop")  # what it believes in
            assert stop == {"stopped": False}
        assert in_line == seen[-1]["turnId"]
        after = await proven(database, session)
        assert [row.event_id for row in after.log] == [row.event_id for row in before.log]
        assert shown(await b.reload(session)) == shown(seen)
        await b.send(session, "hello")  # the session goes on


async def test_nodes_that_are_replaced_one_after_the_other_lose_nothing(folder, database, valkey):
    """A rolling upgrade: SIGTERM, and a new one, while people talk through the proxy."""
    async with office(folder, database, valkey.url) as (nodes, (a, *_)):
        upgraded = asyncio.Event()
        sessions = [await a.session() for _ in range(3)]
        person = Person(a._http, nodes.url)
        async with asyncio.TaskGroup() as tasks:
            talks = [tasks.create_task(_talk(person, each, upgraded)) for each in sessions]
            for place in range(3):
                await nodes.nodes[place].stop()
                await (await nodes.start_node(place)).ready()
            upgraded.set()
        for session, talk in zip(sessions, talks, strict=True):
            evidence = await proven(database, session)
            assert [turn.state for turn in evidence.turns] == ["done"] * talk.result()
            assert {row.type for row in evidence.log} == {"user_message_sent", "message"}


async def _talk(person, session, enough):
    """Ask, and see each answer whole, wherever it comes from. How often that was."""
    count = 0
    while not enough.is_set():
        count += 1
        seen = await _answered(person, session, {"message": "tell", "requestId": f"r{count}"})
        text = "".join(e["content"] for e in seen if e["type"] == "message_chunk")
        assert (seen[-1]["type"], seen[-1]["reason"]) == ("complete", "success")
        assert text in ("", SHORT) and seen[-2]["content"] == SHORT  # "": read from the log
    return count


async def _answered(person, session, body):
    """The turn from its start to its end. A request is repeated where its answer breaks off."""
    url = f"{person.url}/api/sessions/{session}/messages"
    async with asyncio.timeout(60):
        while True:
            with suppress(aiohttp.ClientError):
                headers = {"Accept": "text/event-stream"}
                async with person._http.post(url, json=body, headers=headers) as response:
                    assert response.status in (200, 503), await response.text()
                    seen = [event async for event in events_of(response)]
                    if seen and seen[-1]["type"] == "complete":
                        return seen
            await asyncio.sleep(0.05)  # as a client does whose server restarts


async def _draft_of(database, session):
    """Wait until something of the answer is safe."""
    async with open_store(database, read_only=True) as store, asyncio.timeout(60):
        while not (await store.evidence(session)).turns[-1].draft:
            await asyncio.sleep(0.05)


async def test_without_redis_events_come_by_the_log_and_it_recovers_by_itself(folder, database):
    redis = Valkey()
    redis.start()
    try:
        async with office(folder, database, redis.url, size=2) as (_, (a, b)):
            session = await a.session()
            assert (await b.ask("GET", "/readyz"))["liveEvents"] == "at once"
            redis.server.kill()
            await _live_events(b, "by the log")
            async with b.watch(session) as events:
                await a.send(session, "pay")
                asked = (await until(events, "approval_requested"))[-1]
                await b.ask("POST", f"/api/approvals/{asked['approvalId']}", {"approved": True})
                assert shown(await until(events, "complete"))
            redis.start()  # empty
            await _live_events(a, "at once")
            await _live_events(b, "at once")
            async with b.watch(session) as events:
                await a.send(session, "hello")
                assert (await until(events, "message_chunk"))[-1]["content"]
                await until(events, "complete")
            await proven(database, session)
    finally:
        redis.close()


async def _live_events(person, how):
    async with asyncio.timeout(60):
        while (await person.ask("GET", "/readyz"))["liveEvents"] != how:
            await asyncio.sleep(0.05)
