"""The Socket.IO client of browsers, from npm, gets every event exactly once."""

import asyncio
import json
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import nodejs
import pytest
from test_sockets import WAITS, served, until

from turnlog.ports import Question
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import invariants
from turnlog.transports.access.auth import LOCAL_USER
from turnlog.transports.socketio import engine

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "node" / "socket_client.mjs"
TRANSPORTS = ["websocket", "polling", "polling,websocket"]  # the last one is an upgrade


@asynccontextmanager
async def npm_client(*args):
    """The client as a process. It is killed if the test ends before it does."""
    assert nodejs.package("socket.io-client")
    process = await asyncio.create_subprocess_exec(
        *(nodejs.node(), SCRIPT, nodejs.FOLDER, *args),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=2**24,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def report(process):
    return json.loads(await process.stdout.readline())


@pytest.mark.parametrize("transports", TRANSPORTS)
async def test_a_client_that_loses_its_connection_misses_nothing(transports):
    async with served(*WAITS, Reply(ToolCall("wait"))) as server:
        session = await server.session()
        async with npm_client("use", server.url, transports, session) as client:
            assert await report(client) == {"what": "away"}
            server.go.set()
            await asyncio.gather(*server.app._turns._live.tasks)
            server.go.clear()
            client.stdin.write(b"back\n")
            done = await report(client)
        assert (done["what"], done["starts"]) == ("done", 3)
        assert done["transport"] == transports.split(",")[-1]
        first, second, stopped = done["acks"]
        turns = list(dict.fromkeys(event["turnId"] for event in done["events"]))
        assert turns == [first["turnId"], second["turnId"]]
        assert stopped == {"ok": True, "stopped": True}
        assert invariants.broken(done["events"], await server.log(session)) == []


@pytest.mark.parametrize("transports", TRANSPORTS)
async def test_a_client_that_reconnects_during_an_answer_misses_nothing(transports):
    """It reconnects between chunks. With an upgrade, chunks come before, during and after it."""
    story = "".join(f"{n} " for n in range(2000))
    async with served(Reply(story, chunk=10, delay=0.003)) as server:
        session = await server.session()
        async with npm_client("watch", server.url, transports, session) as client:
            assert await report(client) == {"what": "joined"}
            await server.app.start_turn(LOCAL_USER, session, Question(message="Tell me."))
            done = await report(client)
        assert done["starts"] > 1
        assert done["transport"] == transports.split(",")[-1]
        assert invariants.broken(done["events"], await server.log(session)) == []


@asynccontextmanager
async def holding_proxy(port):
    """A network that swallows what websockets say to their clients, until it is let go."""
    go, tasks = asyncio.Event(), []

    async def pump(reader, writer, *, is_held):
        try:
            while piece := await reader.read(65_536):
                opening, end, rest = piece.partition(b"\r\n\r\n")
                if is_held and b" 101 " in opening:
                    writer.write(opening + end)
                    await go.wait()
                    piece = rest
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def connected(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", port)
        tasks.append(asyncio.create_task(pump(reader, back, is_held=False)))
        tasks.append(asyncio.create_task(pump(there, writer, is_held=True)))

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as proxy:
        yield f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}", go
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_events_stream_while_a_websocket_is_tried_out_and_none_is_lost(monkeypatch):
    """By polling as long as nothing of the websocket comes through; it takes over in the middle."""
    monkeypatch.setattr(engine, "PROBES_WITHIN", 600.0)
    story = "".join(f"{n} " for n in range(600))
    asks = Reply("Let me see.", ToolCall("wait"), chunk=3)
    async with served(asks, Reply(story, chunk=10, delay=0.003)) as server:
        session = await server.session()
        port = int(server.url.split(":")[2])
        async with (
            holding_proxy(port) as (url, go),
            npm_client("stay", url, "polling,websocket", session) as client,
        ):
            assert await report(client) == {"what": "joined"}
            (connection,) = server.app._sockets._engine.connections.values()
            await until(lambda: connection.probe is not None)
            await server.app.start_turn(LOCAL_USER, session, Question(message="Tell me."))
            assert await report(client) == {"what": "reads", "transport": "polling"}
            server.go.set()
            go.set()
            done = await report(client)
        assert (done["starts"], done["transport"]) == (1, "websocket")
        assert invariants.broken(done["events"], await server.log(session)) == []
