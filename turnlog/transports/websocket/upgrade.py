"""A request that wants a websocket: uvicorn hands its connection over (`ws=`) with the head.

The application takes the line (`line.serve`), or refuses by ASGI's messages.
"""

import asyncio
import logging
from typing import Any

from starlette.types import Message, Scope
from uvicorn import Config
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl
from uvicorn.server import ServerState

from turnlog.transports.websocket import handshake
from turnlog.transports.websocket.connection import WebSocket
from turnlog.transports.websocket.frames import ABNORMAL
from turnlog.transports.websocket.line import EXTENSION, Listener

_log = logging.getLogger(__name__)
GONE: Message = {"type": "websocket.disconnect", "code": ABNORMAL, "reason": ""}
BODY = "websocket.http.response"  # ASGI's extension: why there is no websocket, in a body


class Upgrade(asyncio.Protocol):
    """The protocol of a connection until its request is answered."""

    transport: asyncio.Transport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """As uvicorn makes its own."""
        self._app = config.loaded_app
        self._root: str = config.root_path
        self._asgi = {"version": config.asgi_version, "spec_version": "2.4"}
        self._state = server_state
        self._app_state = app_state
        self._key = b""
        self._refusal: Message | None = None  # begun, and waits for its body
        self._answered = asyncio.Event()
        self._was_asked = False  # the application has received `websocket.connect`
        self._is_full = False  # the client has not read what was sent before

    # what the transport and uvicorn say

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._state.connections.add(self)  # type: ignore[arg-type]  # uvicorn's own are listed

    def data_received(self, data: bytes) -> None:
        """The head, which uvicorn has parsed; more than that may only come after the answer."""
        if self._key:
            self.transport.abort()
            return
        scope = handshake.read(data)
        try:
            self._key = handshake.key_of(scope, data.partition(b" ")[0])
        except handshake.Refused as refused:
            self._refuse(refused.status, refused.headers, str(refused).encode())
            return
        task = asyncio.get_running_loop().create_task(self._run(self._placed(scope)))
        self._state.tasks.add(task)
        task.add_done_callback(self._state.tasks.discard)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def shutdown(self) -> None:
        self._refuse(503, (), b"The server stops.")

    # what the application says

    def take(self, listener: Listener) -> None:
        """Open the websocket for this listener; the application has no more to do with it."""
        if self._answered.is_set():  # the client has gone in the meantime
            listener.lost()
            return
        self.transport.write(handshake.accepted(self._key))
        self._leave()
        WebSocket(self.transport, listener, self._state.connections, is_full=self._is_full)

    async def _run(self, scope: Scope) -> None:
        try:
            await self._app(scope, self._receive, self._send)
        except OSError:
            pass  # the client has gone
        except Exception:
            _log.exception("the application of a websocket failed")
        self._refuse(500, (), b"")  # where it has not answered

    async def _receive(self) -> Message:
        if not self._was_asked:
            self._was_asked = True
            return {"type": "websocket.connect"}
        await self._answered.wait()
        return GONE

    async def _send(self, message: Message) -> None:
        if self._answered.is_set():
            raise OSError("the websocket is closed")
        if message["type"] == "websocket.accept":
            raise NotImplementedError("take the line: see turnlog/transports/websocket/line.py")
        if message["type"] == "websocket.close":
            self._refuse(403, (), b"")
        elif message["type"] == f"{BODY}.start":
            self._refusal = {**message, "body": b""}
        elif self._refusal is not None:
            self._refusal["body"] += message.get("body", b"")
            if not message.get("more_body"):
                headers = self._refusal.get("headers", ())
                self._refuse(self._refusal["status"], headers, self._refusal["body"])

    # inside

    def _placed(self, scope: Scope) -> Scope:
        """The scope with where it comes from, and with the line that can be taken."""
        return {
            **scope,
            "asgi": self._asgi,
            "scheme": "wss" if is_ssl(self.transport) else "ws",
            "server": get_local_addr(self.transport),
            "client": get_remote_addr(self.transport),
            "root_path": self._root,
            "path": self._root + scope["path"],
            "raw_path": self._root.encode() + scope["raw_path"],
            "state": self._app_state.copy(),
            "extensions": {BODY: {}, EXTENSION: {"take": self.take}},
        }

    def _refuse(self, status: int, headers: handshake.Headers, body: bytes) -> None:
        if not self._answered.is_set():
            fields = [*self._state.default_headers, *headers]
            self.transport.write(handshake.refused(status, fields, body))
            self.transport.close()
            self._leave()

    def _leave(self) -> None:
        self._answered.set()
        self._state.connections.discard(self)
