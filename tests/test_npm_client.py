"""The Socket.IO client that browsers have, from npm: nothing twice, nothing missing."""

import asyncio
import json
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from test_sockets import WAITS, served

from turnlog.ports import Question
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import invariants
from turnlog.transports.auth import LOCAL_USER

SCRIPT = Path(__file__).parent / "socket_client.mjs"
TRANSPORTS = ["websocket", "polling", "polling,websocket"]  # the last one is an upgrade


@pytest.fixture(scope="module")
def npm_client(tmp_path_factory):
    """A folder with socket.io-client, fetched for this run."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed: the real socket.io-client is NOT tested")
    folder = tmp_path_factory.mktemp("npm")
    install = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]
    done = subprocess.run([*install, "socket.io-client@4"], cwd=folder, capture_output=True)
    if done.returncode:
        pytest.skip("npm cannot fetch socket.io-client: the real client is NOT tested")
    return folder


@asynccontextmanager
async def node(folder, *args):
    """The client as a process; it is killed if the test ends before it does."""
    process = await asyncio.create_subprocess_exec(
        *("node", SCRIPT, folder, *args),
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
async def test_it_drops_off_and_misses_nothing(transports, npm_client):
    async with served(*WAITS, Reply(ToolCall("wait"))) as server:
        session = await server.session()
        async with node(npm_client, "use", server.url, transports, session) as client:
            assert await report(client) == {"what": "away"}
            server.go.set()
            await asyncio.gather(*server.app._turns._tasks)
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
async def test_it_connects_again_and_again_while_an_answer_streams(transports, npm_client):
    """In the middle of chunks; with an upgrade, they come before, during and after it."""
    story = "".join(f"{n} " for n in range(2000))
    async with served(Reply(story, chunk=10, delay=0.003)) as server:
        session = await server.session()
        async with node(npm_client, "watch", server.url, transports, session) as client:
            assert await report(client) == {"what": "joined"}
            await server.app.start_turn(LOCAL_USER, session, Question(message="Tell me."))
            done = await report(client)
        assert done["starts"] > 1
        assert done["transport"] == transports.split(",")[-1]
        assert invariants.broken(done["events"], await server.log(session)) == []
