"""The server process: told to stop, it lets turns end before it hangs up on anybody."""

import asyncio
import gc
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from types import FrameType
from typing import Protocol

import uvicorn
from starlette.types import Receive, Scope, Send

from turnlog.transports.http.serving.head_deadline import HeadDeadline, close_overdue
from turnlog.transports.http.serving.unread import Unread
from turnlog.transports.websocket.upgrade import Upgrade

_log = logging.getLogger(__name__)
DID_NOT_START = 3
TICK = 1.0  # seconds
SETTLED = 3.0  # seconds after which all is imported, also what is imported on the side
# With 500 sockets, the collector of cycles took a sixth of the server's time and stopped it for
# up to 200 ms, to find next to nothing: what a turn leaves behind has no cycles.
RARELY = (5_000, 10, 20)


class App(Protocol):
    """An ASGI application with a life: `async with app`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...
    async def __aenter__(self) -> object: ...
    async def __aexit__(self, *exc: object) -> None: ...


def run(
    app: App,
    sockets: Sequence[socket.socket],
    *,
    on_ready: Callable[[], None],
    on_stop: Callable[[], Awaitable[None]],
) -> int:
    """Serve until a signal comes, and return the exit code. Raises what the app cannot start by.

    `sockets` are listening; `on_ready` is called when they are answered.
    """
    config = uvicorn.Config(
        app,
        http=HeadDeadline,
        ws=Upgrade,
        lifespan="off",  # it would print the trace of an app that says why it does not start
        log_config=None,  # its lines go where ours go: see telemetry/logs.py
        log_level="warning",
        access_log=False,  # it would be made for each request, and then dropped
        server_header=False,
        timeout_graceful_shutdown=5,  # by then turns are over and nobody is told anything
    )
    server = _Server(config, app, on_ready, on_stop)
    with suppress(KeyboardInterrupt):
        server.run(sockets=list(sockets))
    return 0 if server.started else DID_NOT_START


class _Server(uvicorn.Server):
    """uvicorn hangs up on websockets first, and tells the application last that it stops.

    So nobody new is let in, turns end and those who watch see how; then uvicorn goes on.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        on_ready: Callable[[], None],
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._app = app
        self._unread = Unread()
        self._on_stop = on_stop
        self._life = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()  # something to look at before the next tick

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._news.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._life:
            await self._life.enter_async_context(self._app)
            await super().startup(sockets)
            self._life = self._life.pop_all()
        self._on_ready()
        gc.set_threshold(*RARELY)
        settle()
        self._loop.call_later(SETTLED, settle)

    async def main_loop(self) -> None:
        """uvicorn's wakes ten times a second to see whether a signal has come. This is told."""
        while not await self.on_tick():
            await self._tick()

    async def on_tick(self, counter: int = 0) -> bool:
        """Once a second, also while turns end. `counter` is uvicorn's, and not looked at."""
        close_overdue(self.server_state.connections)
        self._unread.hang_up(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(0)  # it makes a new date header with every tenth number

    async def _tick(self) -> None:
        """A second, or less where there is news."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TICK):
                await self._news.wait()
        self._news.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("the server stops: turns that run get their time, then it hangs up")
        for server in self.servers:
            server.close()
        ending = asyncio.ensure_future(self._on_stop())
        ending.add_done_callback(lambda _: self._news.set())
        while not (ending.done() or self.force_exit):  # somebody is impatient
            await self.on_tick()
            await self._tick()
        await super().shutdown(sockets)
        if self.force_exit:
            ending.cancel()
            await asyncio.wait([ending])
        else:
            await ending
            await self._life.aclose()
        _log.info("the server has stopped")


def settle() -> None:
    """What is there now stays: the collector need not look at it again and again.

    It looks at the youngest before: a look at all of them takes 70 ms, in which nobody is served,
    and finds nothing, because the collections of a start have found it.
    """
    gc.collect(0)
    gc.freeze()
