"""The protocol's own conformance suite against `/mcp`.

`npm install @modelcontextprotocol/conformance` somewhere (it needs Node 22), and set
TURNLOG_CONFORMANCE to the command: "node .../node_modules/.bin/conformance".
"""

import asyncio
import os
import shlex

import pytest
from test_mcp_server import served

COMMAND = os.environ.get("TURNLOG_CONFORMANCE")
# Those that want nothing but a server; the others test tools of the suite's own example server.
SCENARIOS = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]


@pytest.mark.soak
@pytest.mark.skipif(not COMMAND, reason="TURNLOG_CONFORMANCE does not say where the suite is")
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_suite_finds_nothing(scenario):
    async with served(secret=None) as app:
        given = ["server", "--url", f"{app.url}/mcp", "--scenario", scenario]
        process = await asyncio.create_subprocess_exec(
            *shlex.split(COMMAND), *given, stdout=asyncio.subprocess.PIPE
        )
        told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    assert b", 0 failed, 0 warnings" in told
