"""How a socket's life goes: who never says who it is, waits in line, is counted, and hung up on."""

import asyncio
import signal

import aiohttp
import pytest
from test_sockets import SECRET, WAITS, served, token, until

from turnlog.events.kinds import UserMessageSent
from turnlog.events.rows.record import stamped
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.testing.server import serving
from turnlog.testing.tabs import tab
from turnlog.transports.socketio import engine

pytestmark = pytest.mark.slow

OPEN = "/socket.io/?EIO=4&transport="
BOTH = pytest.mark.parametrize("transport", ["websocket", "polling"])


@pytest.fixture
def hurry(monkeypatch):
    """From its call on, who has not said who it is has no time left."""
    monkeypatch.setattr(engine, "ROUND", 0.02)
    return lambda: monkeypatch.setattr(engine, "CONNECTS_WITHIN", 0.0)


def engine_sockets(server):
    return server.app._sockets._engine.connections


# who never says who it is


@pytest.mark.parametrize("said", [None, "40", '40{"token":"abc"}', "40/other,"])
async def test_a_websocket_that_does_not_say_who_it_is_ends(said, hurry):
    async with (
        served(secret=SECRET) as server,
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{server.url}{OPEN}websocket") as line,
    ):
        if said is not None:
            await line.send_str(said)
        hurry()
        while not line.closed:
            await line.receive()
        await until(lambda: not engine_sockets(server))


async def test_polling_that_does_not_say_who_it_is_ends(hurry):
    async with served(secret=SECRET) as server, aiohttp.ClientSession() as http:
        async with http.get(f"{server.url}{OPEN}polling") as response:
            opened = (await response.text())[1:]
        (sid,) = engine_sockets(server)
        assert sid in opened
        asking = asyncio.create_task(http.get(f"{server.url}{OPEN}polling&sid={sid}"))
        await until(lambda: engine_sockets(server)[sid].poll)  # it is there
        hurry()
        async with await asking as response:
            assert (await response.text()).startswith("1")  # engine.io's close
        async with http.get(f"{server.url}{OPEN}polling&sid={sid}") as response:
            assert response.status == 400


@BOTH
async def test_who_has_said_who_it_is_stays(transport, hurry):
    async with (
        served(secret=SECRET) as server,
        tab(server.url, auth={"token": token()}, transports=[transport]) as one,
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{server.url}{OPEN}websocket") as nobody,
    ):
        hurry()
        while not nobody.closed:  # several rounds
            await nobody.receive()
        await one.join(await server.session("alice"))


@pytest.mark.parametrize("name", ["connect", "disconnect", "request", "*"])
async def test_no_client_calls_a_handler_of_ours_by_name(name):
    async with served() as server, tab(server.url) as one:
        answer = await one.ask(name, {"token": "x"})
        assert answer["error"]["code"] == "bad_input"
        await one.join(await server.session())


# counted


@BOTH
async def test_open_sockets_are_counted(transport):
    async with served(secret=SECRET) as server:
        page = server.app.metrics.page
        how = {"auth": {"token": token()}, "transports": [transport]}
        async with tab(server.url, **how), tab(server.url, **how):
            assert 'turnlog_open_streams{transport="socketio"} 2\n' in page()
        await until(lambda: 'turnlog_open_streams{transport="socketio"} 0\n' in page())


# waiting in line


async def asked(server, session):
    log = [stamped(row).event for row in (await server.app.store.evidence(session)).log]
    return [event.content for event in log if isinstance(event, UserMessageSent)]


async def test_messages_wait_in_line_and_a_stop_does_not():
    replies = [Reply("One."), Reply("Two."), Reply("Three.")]
    async with served(Reply(ToolCall("wait")), *replies) as server, tab(server.url) as one:
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "0"})
        await one.until("tool_use")
        line = [
            await one.ask("chat:message", {"sessionId": session, "message": n, "onBusy": "enqueue"})
            for n in "123"
        ]
        assert [each["place"] for each in line] == [1, 2, 3]
        assert (await one.ask("chat:stop", {"sessionId": session}))["stopped"]
        turns = [each["turnId"] for each in line]
        while one.seen[-1]["turnId"] != turns[-1]:
            await one.until("complete")
        assert list(dict.fromkeys(event["turnId"] for event in one.seen))[1:] == turns
        assert invariants.broken(one.seen, await server.log(session)) == []
        assert await asked(server, session) == ["0", "1", "2", "3"]


# what is no longer at hand


@BOTH
async def test_after_a_restart_a_cursor_of_mid_turn_is_told_to_reload(transport):
    store = MemoryStore()
    async with served(*WAITS, store=store) as server, tab(server.url) as one:
        session = await server.session()
        await one.join(session)
        server.go.set()
        await one.ask("chat:message", {"sessionId": session, "message": "Hi"})
        seen = await one.until("complete")
    async with (
        served(Reply("Yes."), store=store) as server,
        tab(server.url, transports=[transport]) as one,
    ):
        assert (await one.join(session, after=seen[0]["cursor"]))["cursor"] == seen[0]["cursor"]
        (told,) = await one.until("resync_required")
        assert (told["persistenceState"], told["sessionId"]) == ("transient", session)
        await one.join(session, after=seen[-1]["cursor"])  # as a reload would say
        await one.ask("chat:message", {"sessionId": session, "message": "And?"})
        shown = (await one.until("complete"))[1:]
        log = await server.log(session)
        assert invariants.broken([*seen, *shown], log) == []


@pytest.mark.filterwarnings("ignore:Sending a large body")  # aiohttp, of its own client
@BOTH
async def test_the_longest_question_fits_a_packet_of_a_client_that_escapes_it(transport):
    async with served(Reply("Long.")) as server, tab(server.url, transports=[transport]) as one:
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "😀" * 200_000})
        assert (await one.until("complete"))[-1]["reason"] == "success"


# hung up on


@BOTH
async def test_when_the_server_stops_turns_end_first_and_then_sockets_do(transport):
    async with (
        served(*WAITS) as server,
        tab(server.url, transports=[transport]) as one,
        tab(server.url, transports=[transport]) as idle,
    ):
        session = await server.session()
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Hi"})
        await one.until("tool_use")
        stopping = asyncio.create_task(server.app.end_turns())
        server.go.set()
        await stopping
        assert (await one.until("complete"))[-1]["reason"] == "success"
        await until(lambda: not one.client.connected and not idle.client.connected)
        assert invariants.broken(one.seen, await server.log(session)) == []
        await until(lambda: not server.app._sockets._clients)


APP = """
import asyncio
from pathlib import Path
from turnlog import Agent, create_app, tool

@tool(writes=False)
async def wait() -> str:
    "Waits until the test lets it go."
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "went"

app = create_app(agents=[Agent("waiter", tools=[wait])])
"""


@BOTH
async def test_a_server_that_is_told_to_stop_tells_how_turns_end(transport, tmp_path):
    """SIGTERM in mid-turn: the turn is finished, told, and then the line goes dead."""
    (tmp_path / "waiting.py").write_text(APP)
    async with (
        SimulatedClaude(*WAITS).serve() as claude,
        serving(tmp_path, claude, "waiting:app") as server,
        tab(server.url, transports=[transport]) as one,
        aiohttp.ClientSession(server.url) as http,
        asyncio.timeout(60),
    ):
        async with http.post("/api/sessions") as response:
            session = (await response.json())["id"]
        await one.join(session)
        await one.ask("chat:message", {"sessionId": session, "message": "Go"})
        await one.until("tool_use")
        async with http.get(f"/api/sessions/{session}/stream") as watching:
            server.process.terminate()
            (tmp_path / "go").touch()
            assert await server.process.wait() == -signal.SIGTERM
            assert b"event: complete" in await watching.read()
        assert (await one.until("complete"))[-1]["reason"] == "success"
        await until(lambda: not one.client.connected)
