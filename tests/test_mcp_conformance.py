"""The MCP project's own conformance suite, from npm, against `/mcp`."""

import asyncio

import nodejs
import pytest
from test_mcp_server import served

pytestmark = pytest.mark.slow

# Those that need nothing but a server. The others test tools of the suite's own example server.
SCENARIOS = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_conformance_suite_passes(scenario):
    suite = nodejs.package("@modelcontextprotocol/conformance") / "dist" / "index.js"
    async with served(secret=None) as app:
        options = ["server", "--url", f"{app.url}/mcp", "--scenario", scenario]
        process = await asyncio.create_subprocess_exec(
            nodejs.node(), suite, *options, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b", 0 failed, 0 warnings" in output
