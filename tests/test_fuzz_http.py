"""Schemathesis asks whatever our own OpenAPI document allows, and more: never a 5xx."""

import asyncio
import sys

import aiohttp
import pytest

from turnlog.projections.proof import prove
from turnlog.simulator import SimulatedClaude
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.server import serving

pytestmark = pytest.mark.slow

# A stream does not end by itself; `test_live.py` has it.
OPTIONS = ["--checks", "not_a_server_error", "--exclude-path-regex", "/stream$", "--seed", "1"]
LIMITS = ["--max-examples", "20", "--request-timeout", "60", "--no-color"]
STEADY = ["--suppress-health-check", "all", "--generation-database", "none"]


async def new_session(url):
    async with aiohttp.ClientSession() as http, http.post(f"{url}/api/sessions") as response:
        return (await response.json())["id"]


async def fuzzed(url, folder):
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
    process = await asyncio.create_subprocess_exec(
        *command, *OPTIONS, *LIMITS, *STEADY, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=-2
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def test_nothing_that_can_be_asked_breaks_the_server(tmp_path):
    many = {"TURNLOG_MESSAGES_A_MINUTE": "100000", "TURNLOG_WRITES_A_MINUTE": "100000"}
    async with (
        SimulatedClaude(pace=0).serve() as claude,
        serving(tmp_path, claude, env=many) as server,
    ):
        session = await new_session(server.url)
        (tmp_path / "schemathesis.toml").write_text(f'[parameters]\nsession_id = "{session}"\n')
        code, said = await fuzzed(server.url, tmp_path)
        assert code == 0 and "passed" in said, said
        await server.stop()
    store = SqliteStore(tmp_path / "data")
    await store.open()
    for session_id in await store.session_ids():
        assert prove(await store.evidence(session_id)).problems == []
    await store.close()
