"""Socket.IO clients to test with, and a server for them inside of the running loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from turnlog.projections.transcript import Shown
from turnlog.transports.http.serving.head_deadline import HeadDeadline
from turnlog.transports.websocket.upgrade import Upgrade


@dataclass
class Tab:
    """One Socket.IO client and its events: those to be read, and those that were."""

    client: Any
    inbox: asyncio.Queue[Shown]
    seen: list[Shown]

    async def ask(self, event: str, *payload: Any) -> Any:
        return await self.client.call(event, *payload, timeout=60)

    async def join(self, session_id: str, **more: Any) -> Shown:
        assert await self.ask("session:join", {"sessionId": session_id, **more}) == {"ok": True}
        start = await self.inbox.get()
        assert (start["type"], start["session"]["id"]) == ("session_start", session_id)
        return start

    async def until(self, *types: str) -> list[Shown]:
        """All it has seen, up to the next event of these types."""
        self.seen.append(await self.inbox.get())
        while self.seen[-1]["type"] not in types:
            self.seen.append(await self.inbox.get())
        return self.seen


@asynccontextmanager
async def tab(url: str, **options: Any) -> AsyncIterator[Tab]:
    """A connected client, of the package python-socketio."""
    import socketio

    one = Tab(socketio.AsyncClient(reconnection=False), asyncio.Queue(), [])
    one.client.on("agent:event", one.inbox.put)
    usual = {"transports": ["websocket"], "retry": False, "wait_timeout": 60}  # not one second
    await one.client.connect(url, **usual | options)
    try:
        yield one
    finally:
        await one.client.shutdown()


@asynccontextmanager
async def serve_sockets(app: Any) -> AsyncIterator[str]:
    """uvicorn with websockets inside of the running loop: no signals, closed at once."""
    config = uvicorn.Config(
        app,
        ws=Upgrade,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: HeadDeadline(config, state, {}), "127.0.0.1", 0
    )
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
            connection.transport.close()
        for task in list(state.tasks):
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
