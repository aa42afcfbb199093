"""Socket.IO: a client joins sessions, asks, stops, and gets every event once and in order.

Whatever a client sends is answered `{ok: true, …}` or `{ok: false, error}`, as the user of its
token. `requests` has what it may send, `client` what it gets.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

import jwt
import msgspec
import socketio
from engineio.payload import Payload
from starlette.types import Receive, Scope, Send

from turnlog.errors import BadInput, TooMany, TurnlogError, Unauthorized
from turnlog.events.cursor import parse
from turnlog.ports import Backend, Decision, Question
from turnlog.transports import problem
from turnlog.transports.auth import Auth
from turnlog.transports.deadlines import Sends
from turnlog.transports.frames import writer_of
from turnlog.transports.http.request import MOST_BYTES
from turnlog.transports.limits import WriteLimits
from turnlog.transports.origins import Door
from turnlog.transports.socketio import client as socket_client
from turnlog.transports.socketio import requests
from turnlog.transports.socketio.client import Client, Parcels
from turnlog.transports.socketio.line import Line

MOST_JOINED = 50  # sessions of one socket
CONNECTS_WITHIN = 20.0  # seconds that a connection may take to say who it is
LAST_WORDS = 2.0  # seconds that clients get to read what is left when the server stops
ROUND = 1.0  # seconds between two looks at all sockets
END = None  # engine.io's word for it in a queue: what stands before it is sent
_log = logging.getLogger(__name__)
_protocol = logging.getLogger(f"{__name__}.protocol")  # what clients do wrong
_protocol.setLevel(logging.CRITICAL)
Answer = dict[str, Any]


class Sockets:
    """The Socket.IO server of one application: `async with sockets:`, then an ASGI app."""

    def __init__(
        self, backend: Backend, auth: Auth, origins: Collection[str], writes: WriteLimits
    ) -> None:
        self._backend = backend
        self._writes = writes
        self._auth = auth
        self._origins = frozenset(origins)
        self._clients: dict[str, Client] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._parcels = Parcels()
        self._lines: dict[str, Line] = {}  # by the id of engine.io's socket
        self._sends = Sends()
        self._app = self._serve if auth.required else Door(self._serve, origins)
        self._sio: Any = None  # python-socketio has no types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def __aenter__(self) -> None:
        Payload.max_decode_packets = 1000  # of one POST, whose bytes are limited; 16 loses some
        self._sio = socketio.AsyncServer(
            async_mode="asgi",
            async_handlers=False,  # one at a time: a client's events keep their order
            cors_allowed_origins=self._is_welcome,
            max_http_buffer_size=MOST_BYTES,
            serializer=requests.JsonPacket,
            logger=_protocol,
            engineio_logger=_protocol,
        )
        self._sio.on("connect", self._connect)
        self._sio.on("disconnect", self._gone)
        self._sio.on(requests.REQUEST, self._request)
        self._spawn(self._go_round())

    async def __aexit__(self, *exc: object) -> None:
        await self.hang_up()
        await self._sio.shutdown()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def hang_up(self) -> None:
        """On everybody, when they have read what is there. They come back with their cursors."""
        open_ones = [one for one in self._sio.eio.sockets.values() if not one.closed]
        await _all_read(open_ones)
        for socket in open_ones:
            await socket.close(wait=False)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if int(headers.get(b"content-length", 0)) > MOST_BYTES:
            detail = f"The body is larger than {MOST_BYTES} bytes."
            refused = problem.response(413, "Too large", detail, "too_large")
            await refused(scope, receive, send)
            return
        if scope["type"] == "websocket":
            self._upgrade(scope)
        try:
            await self._sio.handle_request(scope, receive, self._sends.watched(send))
        except Exception:
            if scope["type"] != "websocket":
                raise
            _protocol.info("nonsense on a websocket", exc_info=True)  # and no pong will come

    def _upgrade(self, scope: Scope) -> None:
        """A client that has polled gets a websocket."""
        for engine_id in parse_qs(scope["query_string"].decode("latin-1")).get("sid", ()):
            if line := self._lines.get(engine_id):
                line.write = writer_of(scope)

    def _is_welcome(self, origin: str | None, environ: dict[str, Any]) -> bool:
        """The rule of the door, for servers with authentication too: CORS is off by default."""
        own = origin is None or origin.partition("://")[2] == environ.get("HTTP_HOST")
        return own or origin in self._origins

    async def _go_round(self) -> None:
        """Close what nobody reads, and connections that do not say who they are."""
        met: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        while True:
            await asyncio.sleep(ROUND)
            now = asyncio.get_running_loop().time()
            self._sends.give_up(now - socket_client.PATIENCE)
            known = {client.socket for client in self._clients.values()}
            for socket in list(self._sio.eio.sockets.values()):
                if socket not in known and met.setdefault(socket, now) <= now - CONNECTS_WITHIN:
                    await _close(socket)

    # who is there

    async def _connect(self, sid: str, environ: Any, auth: Any) -> None:
        token: Any = auth.get("token") if isinstance(auth, dict) else None
        try:
            if self._auth.required and not isinstance(token, str):
                raise Unauthorized("Connect with auth: {token}.")
            user = await self._auth.identify(f"Bearer {token}")
        except TurnlogError as error:
            refusal = {"code": error.code, "detail": str(error)}
            raise socketio.exceptions.ConnectionRefusedError(str(error), refusal) from None
        engine_id = self._sio.manager.eio_sid_from_sid(sid, "/")
        socket = self._sio.eio.sockets[engine_id]
        scope = environ["asgi.scope"]
        is_socket = scope["type"] == "websocket"
        line = self._lines[engine_id] = Line(socket, writer_of(scope) if is_socket else None)
        client = self._clients[sid] = Client(
            sid=sid,
            socket=socket,
            line=line,
            user=user,
            parcels=self._parcels,
            spawn=self._spawn,
            end=self._sio.disconnect,
        )
        client.closing.callback(line.end)
        client.closing.callback(self._lines.pop, engine_id, None)
        client.closing.enter_context(self._backend.metrics.watching("socketio"))
        if self._auth.required:
            self._end_with(token, client)

    def _end_with(self, token: str, client: Client) -> None:
        """A socket lives no longer than its token, whatever it runs on."""
        claims = jwt.decode(token, options={"verify_signature": False})  # proven before
        left = int(claims["exp"]) - time.time()
        expiry = asyncio.get_running_loop().call_later(left, client.send_away)
        client.closing.callback(expiry.cancel)

    async def _gone(self, sid: str, reason: Any = None) -> None:
        client = self._clients.pop(sid, None)
        if client is None:
            return
        client.leave(*client.joined)
        client.closing.close()
        if not client.socket.closing:
            client.socket.queue.put_nowait(END)

    # requests

    async def _request(self, sid: str, number: int | None, *items: Any) -> None:
        client = self._clients.get(sid)
        if client is None:
            return
        await client.room()
        event, args = (items[0], items[1:]) if items else ("", ())
        try:
            if not isinstance(event, str) or event not in ACTIONS:
                raise BadInput(f"There is no event {event!r}. There are: {', '.join(ACTIONS)}.")
            kind, act = ACTIONS[event]
            request = requests.payload(args, kind)
            if not isinstance(request, requests.Join | requests.Leave):
                self._writes.count(client.user.id)
        except (BadInput, TooMany) as error:
            client.answer(number, {"ok": False, "error": requests.explained(error)})
            return
        answering = self._answer(client, number, act(self, client, request))
        if isinstance(request, requests.Message) and request.on_busy == "enqueue":
            self._spawn(answering)  # or its pongs, and a stop, would wait behind it
        else:
            await answering

    async def _answer(
        self, client: Client, number: int | None, acting: Coroutine[Any, Any, Answer]
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
        if self._clients.get(client.sid) is client:  # it may have gone in the meantime
            batches = self._backend.follow(client.user.id, session.id, after)
            client.join(session, request.after, batches)
        return {}

    async def _leave(self, client: Client, request: requests.Leave) -> Answer:
        client.leave(*(client.joined if request.session_id is None else [request.session_id]))
        return {}

    async def _message(self, client: Client, request: requests.Message) -> Answer:
        fields = msgspec.structs.asdict(request)
        session_id = fields.pop("session_id")
        question = Question(**fields)
        if request.on_busy == "enqueue":
            async with client.in_line(session_id) as joined:
                turn = await self._backend.start_turn(
                    client.user, session_id, question, on_line=joined
                )
        else:
            turn = await self._backend.start_turn(client.user, session_id, question)
        return {"turnId": turn.turn_id}

    async def _stop(self, client: Client, request: requests.Stop) -> Answer:
        return {"stopped": await self._backend.stop_turn(client.user.id, request.session_id)}

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


async def _all_read(open_ones: Sequence[Any]) -> None:
    """Wait for those who read; not for long for those who do not."""
    reading = [asyncio.ensure_future(socket.queue.join()) for socket in open_ones]
    if reading:
        _, stuck = await asyncio.wait(reading, timeout=LAST_WORDS)
        for late in stuck:
            late.cancel()


async def _close(socket: Any) -> None:
    if not socket.closing:
        await socket.close(wait=False)
        socket.queue.put_nowait(END)
