"""The door to the Socket.IO server, which is loaded while the server answers already.

python-socketio imports every client and queue that it can find: a quarter of a second.
"""

import asyncio
from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from turnlog.ports import Backend
from turnlog.transports.auth import Auth
from turnlog.transports.limits import WriteLimits

if TYPE_CHECKING:
    from turnlog.transports.socketio.server import Sockets

PATH = "/socket.io"


class SocketDoor:
    """`async with` it; the first client waits until the server behind it is there."""

    def __init__(
        self, backend: Backend, auth: Auth, origins: Collection[str], writes: WriteLimits
    ) -> None:
        self._given = (backend, auth, origins, writes)
        self._loading: asyncio.Task[Sockets] | None = None

    async def __aenter__(self) -> None:
        self._loading = asyncio.create_task(self._load())

    async def __aexit__(self, *exc: object) -> None:
        if self._loading is not None:
            await (await self._loading).__aexit__(*exc)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.opened())(scope, receive, send)

    async def hang_up(self) -> None:
        """On everybody, when they have read what is there. They come back with their cursors."""
        if self._loading is not None:
            await (await self.opened()).hang_up()

    @property
    def server(self) -> "Sockets":
        """The server, which has answered somebody before."""
        assert self._loading is not None, "the door is not open"
        return self._loading.result()

    async def opened(self) -> "Sockets":
        """The server itself."""
        assert self._loading is not None, "the door is not open"
        return await asyncio.shield(self._loading)  # a client that goes does not stop it

    async def _load(self) -> "Sockets":
        module: Any = await asyncio.to_thread(import_module, "turnlog.transports.socketio.server")
        sockets: Sockets = module.Sockets(*self._given)
        await sockets.__aenter__()
        return sockets
