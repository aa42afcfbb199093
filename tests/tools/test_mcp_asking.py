"""An MCP server that makes us ask it without end: by ending its stream, or by asking us."""

import asyncio
import time
from contextlib import aclosing

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from test_mcp_hostile import Hostile, most

from turnlog import McpServer
from turnlog.tools.mcp import handshake, pace


@pytest.fixture(autouse=True)
def small_store(monkeypatch):
    """What may come at once is soon used up."""
    monkeypatch.setattr(pace, "AT_ONCE", 0.1)


class Ending(Hostile):
    """Ends its stream for news at once, and says that it may be asked for another one now."""

    def __init__(self):
        super().__init__()
        self.streams = 0

    async def __call__(self, scope, receive, send):
        async def with_session(message):
            message.setdefault("headers", []).append((b"mcp-session-id", b"s"))
            await send(message)

        if scope["method"] != "GET":
            await super().__call__(scope, receive, with_session)
            return
        self.streams += 1
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"retry: 0\n\n"})


async def test_a_server_that_ends_its_stream_without_end_is_asked_for_another_at_a_pace():
    hostile, server = Ending(), McpServer("crm", url="/mcp")
    began = time.monotonic()
    async with (
        asyncio.timeout(60),
        handshake.opened(server, dict, hostile, pace.Pace(), asyncio.Event(), print) as client,
    ):
        while hostile.streams < 20:
            await asyncio.sleep(0.01)
        may_wait = pace.AT_ONCE + time.monotonic() - began + pace._NO_WAIT
        assert hostile.streams <= may_wait * pace.STREAMS + 2
        assert len(await handshake.list_tools(client)) == 1  # who asks it for something waits not


async def test_a_server_that_asks_us_without_end_is_heard_at_a_pace():
    """Each of its questions is answered, by a request of ours."""

    async def pings():
        for number in range(10_000):
            yield SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))

    began, heard = time.monotonic(), 0
    async with aclosing(pings()) as asked:
        async for _ in handshake._Reading(asked, pace.Pace(), asyncio.Event()):
            heard += 1
            if heard == 20:
                break
    assert heard <= most(pace.QUESTION, time.monotonic() - began)
