"""MCP servers that are silent, gone, crash or come back: turnlog goes on, and finds them again."""

import asyncio
import os
from contextlib import asynccontextmanager

import pytest
from mcp_servers import over_http
from test_mcp_source import call, connected, context, crm, result_of, shared, sources, tools

from turnlog import McpServer
from turnlog.tools.identity import Identity
from turnlog.tools.mcp import connection
from turnlog.tools.mcp import source as source_module
from turnlog.tools.mcp.connection import NoAnswer

pytestmark = pytest.mark.slow

__all__ = ["shared"]  # the fixture


async def test_a_turn_does_not_wait_long_for_a_server_that_does_not_answer(monkeypatch, caplog):
    monkeypatch.setattr(source_module, "PATIENCE", 0.1)

    async def says_nothing(reader, writer):
        while await reader.read(1_000):
            pass
        writer.close()

    silent = await asyncio.start_server(says_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    async with silent, crm(f"http://127.0.0.1:{port}/mcp") as made:
        assert await made.tools_for(made.agent, "alice") == []
    assert "MCP server crm takes too long; its tools are left out" in caplog.text


async def test_a_server_that_is_not_there_costs_only_its_own_tools(shared, caplog):
    gone = McpServer("gone", command="/no/such/program")
    refused = McpServer("refused", url="http://127.0.0.1:9/mcp")
    async with sources(gone, refused, McpServer("crm", url=shared)) as made:
        found = await tools(made)
        assert {name.split("__")[0] for name in found} == {"crm"}
        async with asyncio.timeout(60):
            while made.describe().count("not reachable") < 2:
                await asyncio.sleep(0.01)
        assert "gone (not reachable (FileNotFoundError))" in made.describe()
        assert "refused (not reachable (ConnectError))" in made.describe()
    assert "MCP server gone: FileNotFoundError" in caplog.text


async def test_a_program_that_crashes_is_started_again(monkeypatch):
    monkeypatch.setattr(connection, "STEADY", 0.0)
    async with connected("stdio") as made:
        first = await call(made, "crm__pid")
        assert (await result_of(made, "crm__crash")).in_doubt  # it may have been done
        assert await call(made, "crm__pid") != first


@pytest.mark.parametrize("kind", ["http", "http legacy"])
async def test_a_server_that_was_restarted_is_found_again(kind, monkeypatch):
    monkeypatch.setattr(connection, "STEADY", 0.0)
    async with connected(kind) as made:
        first = await tools(made)
        made.process.kill()
        await made.process.wait()
        with pytest.raises(NoAnswer):
            await first["crm__echo"].function(arguments={}, context=context())
        port = int(made.agent.mcp[0].url.split(":")[2].split("/")[0])
        old = ["--legacy"] if "legacy" in kind else []
        async with over_http(*old, "--extra", "newer", port=port):
            assert "crm__newer" in await tools(made)
            assert await call(made, "crm__echo", text="back") == "back"


async def test_a_server_that_stays_away_is_asked_less_and_less(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 12:
            await asyncio.Event().wait()

    async with sources(McpServer("gone", command="/no/such/program")) as made:
        monkeypatch.setattr(connection.asyncio, "sleep", sleep)
        (source,) = made._sources.values()
        (one,) = source._connections.values()
        while len(waits) < 12:
            await asyncio.wait([one._task], timeout=0.01)
        monkeypatch.undo()
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]


async def test_nothing_is_left_running():
    async with connected("stdio") as made:
        pid = int(await call(made, "crm__pid"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_client_that_answers_its_end_with_an_error_is_closed_all_the_same(monkeypatch):
    """The real one does so when it is closed while it opens: the server could not be stopped."""
    opening = asyncio.Event()

    class Stubborn:
        @asynccontextmanager
        async def opened(*_):
            opening.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise RuntimeError("broken") from None
            yield

    async def loaded():
        return Stubborn

    monkeypatch.setattr(connection, "loaded", loaded)
    opened = connection.Connection(McpServer("crm", url="http://127.0.0.1:9"), (), Identity())
    opened.open()
    await opening.wait()
    async with asyncio.timeout(60):
        await opened.close()
