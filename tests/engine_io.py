"""Engine.IO by hand: somebody who polls and posts."""

import json
from contextlib import asynccontextmanager

import aiohttp
from test_sockets import served

OPEN = "/socket.io/?EIO=4&transport="


@asynccontextmanager
async def engine_of(**options):
    """The connections of a server, and somebody who asks it."""
    async with served(**options) as server, aiohttp.ClientSession(server.url) as http:
        yield server.app._sockets._engine.connections, http


async def polled(http, sid=""):
    async with http.get(f"{OPEN}polling" + (f"&sid={sid}" if sid else "")) as response:
        return response.status, await response.text()


async def posted(http, sid, *packets):
    body = "\x1e".join(packets)
    async with http.post(f"{OPEN}polling&sid={sid}", data=body.encode()) as response:
        return response.status, await response.text()


async def opened(http):
    """A connection that polls, and has said who it is."""
    sid = json.loads((await polled(http))[1][1:])["sid"]
    assert await posted(http, sid, "40") == (200, "ok")
    assert (await polled(http, sid))[1].startswith('40{"sid":')
    return sid


@asynccontextmanager
async def probed(http, sid):
    """A websocket that is tried out for this connection."""
    async with http.ws_connect(f"{OPEN}websocket&sid={sid}") as line:
        await line.send_str("2probe")
        assert await line.receive_str() == "3probe"
        yield line
