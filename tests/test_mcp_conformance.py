"""The MCP project's own conformance suite, from npm, against `/mcp`.

Twice: what turnlog offers, by turnlog's own server; and all of the protocol, by the suite's
example server behind turnlog's door. `docs/mcp.md` says which scenario is shown by which.
"""

import asyncio
import re
from pathlib import Path

import mcp_example
import nodejs
import pytest
from test_mcp_server import served

from turnlog import tool
from turnlog.errors import ToolError
from turnlog.transports.mcp import server as official

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parents[1] / "docs" / "mcp.md"

# Those of what turnlog's own server offers.
OWN = [
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


async def suite(app):
    """The scenarios that pass, and all that the suite prints."""
    program = nodejs.package("@modelcontextprotocol/conformance") / "dist" / "index.js"
    options = ["server", "--url", f"{app.url}/mcp", "--suite", "all"]
    process = await asyncio.create_subprocess_exec(
        nodejs.node(), program, *options, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    text = output.decode()
    return set(re.findall(r"✓ ([a-z0-9-]+): \d+ passed, 0 failed", text)), text


@pytest.mark.parametrize("agents", ["", "a"], ids=["each request alone", "sessions"])
async def test_turnlogs_own_server_passes_what_it_offers(agents):
    tools = [simple_text, error_handling]
    async with served(secret=None, tools=tools, mcp_agents=agents) as app:
        passed, output = await suite(app)
    assert set(OWN) <= passed, output


async def test_the_door_carries_every_scenario_of_the_suite(monkeypatch):
    """The suite's example server stands behind our door: authentication, sessions, streams."""
    monkeypatch.setattr(official, "server_of", mcp_example.server_of)
    async with served(secret=None, mcp_agents="*") as app:
        passed, output = await suite(app)
    table = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ((?:own, )?door) \|", DOCS.read_text(), re.M))
    assert passed == table.keys() and "Total: 44 passed, 0 failed" in output, output
    assert {name for name, by in table.items() if by == "own, door"} == set(OWN)
