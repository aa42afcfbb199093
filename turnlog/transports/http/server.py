"""The server process: told to stop, it lets turns end before it hangs up on anybody."""

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

DID_NOT_START = 3
SETTLED = 3.0  # seconds after which all is imported, also what is imported on the side
# With 500 sockets, the collector of cycles took a sixth of the server's time and stopped it for
# up to 200 ms, to find next to nothing: what a turn leaves behind has no cycles.
RARELY = (5_000, 10, 20)


def run(app: ASGIApp, host: str, port: int, *, on_stop: Callable[[], Awaitable[None]]) -> int:
    """Serve until a signal comes, and return the exit code."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,  # its lines go where ours go: see observing/logs.py
        log_level="warning",
        server_header=False,
        ws_per_message_deflate=False,  # events are small: it cost a fifth of the time
        ws_max_size=1_100_000,  # the largest question, and its frame
        timeout_graceful_shutdown=5,  # by then turns are over and nobody is told anything
    )
    server = _Server(config, on_stop)
    with suppress(KeyboardInterrupt):
        server.run()
    return 0 if server.started else DID_NOT_START


class _Server(uvicorn.Server):
    """uvicorn hangs up on websockets first, and tells the application last that it stops.

    So nobody new is let in, turns end and those who watch see how; then uvicorn goes on.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.set_threshold(*RARELY)
        asyncio.get_running_loop().call_later(SETTLED, _settle)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        ending = asyncio.ensure_future(self._on_stop())
        while not ending.done() and not self.force_exit:  # until somebody is impatient
            await asyncio.wait([ending], timeout=0.1)
        await super().shutdown(sockets)
        await ending


def _settle() -> None:
    """What is there now stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
