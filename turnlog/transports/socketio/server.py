"""Socket.IO: a client joins sessions, asks, stops, and gets every event once and in order.

Whatever a client sends is answered `{ok: true, …}` or `{ok: false, error}`, as the user of its
token. `requests` has what it may send, `client` what it gets.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import msgspec
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from turnlog.errors import BadInput, TooMany, TurnlogError, Unauthorized
from turnlog.events.cursor import parse
from turnlog.ports import Backend, Decision, InLine, Question
from turnlog.transports import problem
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.limits import Limits
from turnlog.transports.access.origins import Door, is_same_site, welcome
from turnlog.transports.socketio import packets, requests
from turnlog.transports.socketio.client import Client, Parcels
from turnlog.transports.socketio.connection import Connection
from turnlog.transports.socketio.engine import LAST_WORDS, Engine

PATH = "/socket.io"
MOST_JOINED = 50  # sessions of one socket
MOST_REFUSALS = 10  # of one connection that does not say who it is
_log = logging.getLogger(__name__)
Answer = dict[str, Any]


class Sockets:
    """The Socket.IO server of one application: `async with sockets:`, then an ASGI app."""

    def __init__(
        self, backend: Backend, auth: Auth, origins: Collection[str], limits: Limits
    ) -> None:
        self._backend = backend
        self._writes, self._connections = limits
        self._auth = auth
        self._clients: dict[Connection, Client] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._parcels = Parcels()
        self._engine = Engine(self._take, self._gone)
        pages = CORSMiddleware(
            self._serve,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            allow_credentials=True,
        )
        self._app = Door(pages, origins, is_same_site if auth.required else welcome)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def __aenter__(self) -> None:
        self._spawn(self._engine.go_round())

    async def __aexit__(self, *exc: object) -> None:
        await self.hang_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def hang_up(self) -> None:
        """On everybody, when they have read what is there. They come back with their cursors."""
        following = [task for client in self._clients.values() for task in client.joined.values()]
        if following:  # they end where the bus is closed
            await asyncio.wait(following, timeout=LAST_WORDS)
        await self._engine.hang_up()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if int(headers.get(b"content-length", 0)) > packets.MOST_BYTES:
            detail = f"The body is larger than {packets.MOST_BYTES} bytes."
            refused = problem.response(413, "Too large", detail, "too_large")
            await refused(scope, receive, send)
            return
        await self._engine(scope, receive, send)

    # who is there

    async def _take(self, connection: Connection, message: str) -> None:
        """A packet of a client: it says who it is first, and then what it wants."""
        packet = packets.read(message)
        client = self._clients.get(connection)
        match packet.kind:
            case packets.CONNECT if packet.namespace != "/":
                await self._refuse(connection, packet.namespace, "Invalid namespace")
            case _ if packet.namespace != "/":
                pass  # nobody is there
            case packets.CONNECT if client is None:
                await self._connect(connection, packet)
            case packets.DISCONNECT:
                connection.close()
            case packets.EVENT | packets.BINARY_EVENT if client is not None:
                await self._request(client, packet)

    async def _connect(self, connection: Connection, packet: packets.Packet) -> None:
        try:
            token = packet.auth().get("token")
            if self._auth.required and not isinstance(token, str):
                raise Unauthorized("Connect with auth: {token}.")
            user = await self._auth.identify(f"Bearer {token}")
            if not connection.is_open:  # it has gone in the meantime
                return
            self._connections.open(user.id)
        except TurnlogError as error:
            why = {"code": error.code, "detail": str(error)}
            await self._refuse(connection, "/", str(error), why)
            return
        client = self._clients[connection] = Client(connection, user, self._parcels, self._spawn)
        self._backend.metrics.open_streams.add(1, "socketio")
        if user.until is not None:  # a socket lives no longer than its token
            left = user.until - time.time()
            client.expiry = asyncio.get_running_loop().call_later(left, client.send_away)
        self._engine.welcome(connection)
        connection.put(packets.connected(secrets.token_urlsafe(15)))

    async def _refuse(
        self, connection: Connection, namespace: str, message: str, why: Any = None
    ) -> None:
        await connection.room()
        connection.put(packets.refused(namespace, message, why))
        connection.refusals += 1
        if connection.refusals >= MOST_REFUSALS and not connection.is_known:
            connection.close()

    def _gone(self, connection: Connection) -> None:
        client = self._clients.pop(connection, None)
        if client is not None:
            client.end()
            self._connections.close(client.user.id)
            self._backend.metrics.open_streams.add(-1, "socketio")

    # requests

    async def _request(self, client: Client, packet: packets.Packet) -> None:
        await client.connection.room()
        number = packet.number
        try:
            items = packet.items()
            event = requests.name(items)
            if event not in ACTIONS:
                raise BadInput(f"There is no event {event!r}. There are: {', '.join(ACTIONS)}.")
            kind, act = ACTIONS[event]
            request = requests.payload(items, kind)
            if not isinstance(request, requests.Join | requests.Leave):
                await self._writes.count(client.user.id)
        except (BadInput, TooMany) as error:
            client.answer(number, {"ok": False, "error": requests.explained(error)})
            return
        await self._answer(client, number, act(self, client, request))

    async def _answer(
        self, client: Client, number: str, acting: Coroutine[Any, Any, Answer]
    ) -> None:
        try:
            answer = {"ok": True, **await acting}
        except requests.EXPLAINED as error:
            answer = {"ok": False, "error": requests.explained(error)}
        except Exception:
            _log.exception("the request of a socket failed")
            answer = {"ok": False, "error": requests.BUG}
        client.answer(number, answer)

    async def _join(self, client: Client, request: requests.Join) -> Answer:
        after = parse(request.after) if request.after else None
        session = await self._backend.store.get_session(client.user.id, request.session_id)
        if session.id not in client.joined and len(client.joined) >= MOST_JOINED:
            raise BadInput(f"A socket can join {MOST_JOINED} sessions. Leave one first.")
        if self._clients.get(client.connection) is client:  # it may have gone in the meantime
            batches = self._backend.follow(client.user.id, session.id, after, client.give)
            client.join(session, request.after, batches)
        return {}

    async def _leave(self, client: Client, request: requests.Leave) -> Answer:
        client.leave(*(client.joined if request.session_id is None else [request.session_id]))
        return {}

    async def _message(self, client: Client, request: requests.Message) -> Answer:
        fields = msgspec.structs.asdict(request)
        session_id = fields.pop("session_id")
        accepted = await self._backend.accept(client.user, session_id, Question(**fields))
        place = {"place": accepted.place} if isinstance(accepted, InLine) else {}
        return {"turnId": accepted.turn_id} | place

    async def _stop(self, client: Client, request: requests.Stop) -> Answer:
        place = (client.user.id, request.session_id, request.turn_id)
        return {"stopped": await self._backend.stop_turn(*place)}

    async def _respond(self, client: Client, request: requests.Respond) -> Answer:
        decision = Decision(approved=request.approved, reason=request.reason, args=request.args)
        await self._backend.answer_approval(client.user, request.approval_id, decision)
        return {}

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


Act = Callable[[Sockets, Client, Any], Coroutine[Any, Any, Answer]]
# fmt: off
ACTIONS: dict[str, tuple[type[msgspec.Struct], Act]] = {
    "session:join":     (requests.Join, Sockets._join),
    "session:leave":    (requests.Leave, Sockets._leave),
    "chat:message":     (requests.Message, Sockets._message),
    "chat:stop":        (requests.Stop, Sockets._stop),
    "approval:respond": (requests.Respond, Sockets._respond),
}
# fmt: on
