"""The MCP project's own conformance suite, from npm, against `/mcp`."""

import asyncio

import nodejs
import pytest
from test_mcp_server import served

from turnlog import tool
from turnlog.errors import ToolError

pytestmark = pytest.mark.slow

# Those of what the server offers. The others test resources, prompts, sampling, logging and
# streams, which it does not have and does not claim to have.
SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "dns-rebinding-protection",
]


@tool(mcp=True, writes=False, name="test_simple_text")
def simple_text() -> str:
    """The tool that the suite calls."""
    return "This is a simple text response for testing."


@tool(mcp=True, writes=False, name="test_error_handling")
def error_handling() -> str:
    """The tool of the suite that fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_conformance_suite_passes(scenario):
    suite = nodejs.package("@modelcontextprotocol/conformance") / "dist" / "index.js"
    tools = [simple_text, error_handling]
    async with served(secret=None, tools=tools) as app:
        options = ["server", "--url", f"{app.url}/mcp", "--scenario", scenario]
        process = await asyncio.create_subprocess_exec(
            nodejs.node(), suite, *options, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b", 0 failed, 0 warnings" in output
