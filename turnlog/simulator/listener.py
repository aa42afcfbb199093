"""uvicorn's HTTP inside of the running loop: no signals, no log lines, closed at once.

`uvicorn.Server` is left out on purpose: it installs signal handlers, waits for open streams,
and its logging settings are global, so they would change those of turnlog's own server.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_silent = logging.Logger("turnlog.simulator", level=logging.CRITICAL + 1)


class HungUp(Exception):
    """Raised while a response is being sent: the connection is closed as it is."""


class _SilentHttp(HttpToolsProtocol):
    """A hang-up is an exception to uvicorn, which would log a traceback."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _silent
        self.access_log = False
        self.gone = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.gone.set()


@asynccontextmanager
async def listen(app: Any, host: str, port: int) -> AsyncIterator[str]:
    """Serve the app, and give its base url."""
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, proxy_headers=False)
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: _SilentHttp(config, state, {}), host, port, backlog=2048
    )
    try:
        yield f"http://{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await _close_connections(state)


async def _close_connections(state: ServerState) -> None:
    tasks = list(state.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    connections = [c for c in state.connections if isinstance(c, _SilentHttp)]
    for connection in connections:
        connection.transport.abort()
    await asyncio.gather(*(connection.gone.wait() for connection in connections))
