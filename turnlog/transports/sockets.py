"""Socket.IO: a client joins sessions, asks, stops, and is told every event once and in order.

Whatever a client sends is answered `{ok: true, …}` or `{ok: false, error}`, as the user of its
token. Each session a client joins is one task that follows the bus; a client that does not
read is not written to, and what waits for it is joined in the bus.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import jwt
import msgspec
import socketio  # type: ignore[import-untyped]
from engineio.payload import Payload  # type: ignore[import-untyped]
from starlette.types import Message as Frame
from starlette.types import Receive, Scope, Send

from turnlog.errors import BadInput, TooMany, TurnlogError, Unauthorized
from turnlog.events.base import AgentRef, Placed, Stamped
from turnlog.events.cursor import Cursor, parse
from turnlog.events.kinds import SessionStart
from turnlog.ports import Backend, Question, Session
from turnlog.transports import problem, wire
from turnlog.transports.asking import MOST_BYTES
from turnlog.transports.auth import Auth, User
from turnlog.transports.door import Door
from turnlog.transports.session_routes import shown
from turnlog.transports.turn_routes import BEGINNING

PATH = "/socket.io"
MOST_JOINED = 50  # sessions of one socket
MOST_WAITING = 64  # packets in a socket's queue; more are left in the bus
PATIENCE = 60.0  # seconds that a client may read nothing while something waits for it
_log = logging.getLogger(__name__)
_protocol = logging.getLogger(f"{__name__}.protocol")  # what clients do wrong
_protocol.setLevel(logging.CRITICAL)
_BUG = {"code": "internal_error", "detail": "Something went wrong. Try again."}
T = TypeVar("T", bound=msgspec.Struct)
Answer = dict[str, Any]


class NotAvailable(TurnlogError):
    """A part of the contract that this version does not have."""

    code = "not_available"


EXPLAINED: tuple[type[TurnlogError], ...] = (*problem.STATUS, NotAvailable)


class Asked(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a client sends with an event."""


class Join(Asked, kw_only=True):
    session_id: str
    after: str | None = None


class Leave(Asked, kw_only=True):
    session_id: str | None = None  # None: all of them


class Stop(Asked, kw_only=True):
    session_id: str


class Message(Asked, kw_only=True):  # nothing that waits in line: pongs would wait behind it
    session_id: str
    message: str
    file_ids: list[str] = []
    enable_thinking: bool | None = None
    thinking_budget: int | None = None
    request_id: str | None = None


class Respond(Asked, kw_only=True):
    approval_id: str
    approved: bool
    reason: str | None = None


class JsonPacket(socketio.packet.Packet):  # type: ignore[misc]
    """What we are sent is JSON. Attachments, which may be endless, are never waited for."""

    def decode(self, encoded_packet: Any) -> int:
        super().decode(encoded_packet)
        self.packet_type: int
        if self.packet_type == socketio.packet.BINARY_EVENT:
            self.packet_type = socketio.packet.EVENT  # and is told that it does not fit
        return 0


@dataclass(kw_only=True)
class Client:
    """A socket whose user is known."""

    sid: str
    engine_id: str
    user: User
    expiry: asyncio.TimerHandle | None = None
    joined: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def leave(self, *session_ids: str) -> None:
        for session_id in session_ids:
            if session_id in self.joined:
                self.joined.pop(session_id).cancel()


class Sockets:
    """The Socket.IO server of one application: `async with sockets:`, then an ASGI app."""

    def __init__(self, backend: Backend, auth: Auth, origins: Collection[str] = ()) -> None:
        self._backend = backend
        self._auth = auth
        self._origins = frozenset(origins)
        self._clients: dict[str, Client] = {}
        self._tasks: set[asyncio.Task[None]] = set()
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
            serializer=JsonPacket,
            logger=_protocol,
            engineio_logger=_protocol,
        )
        self._sio.on("connect", self._connect)
        self._sio.on("disconnect", self._gone)
        self._sio.on("*", self._answer)

    async def __aexit__(self, *exc: object) -> None:
        await self.hang_up()
        await self._sio.shutdown()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def hang_up(self) -> None:
        """On everybody; they come back with their cursors."""
        for socket in list(self._sio.eio.sockets.values()):
            await socket.close(wait=False)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if int(headers.get(b"content-length", 0)) > MOST_BYTES:
            detail = f"The body is larger than {MOST_BYTES} bytes."
            refused = problem.response(413, "Too large", detail, "too_large")
            await refused(scope, receive, send)
            return

        async def patient_send(frame: Frame) -> None:
            async with asyncio.timeout(PATIENCE):
                await send(frame)

        try:
            await self._sio.handle_request(scope, receive, patient_send)
        except Exception:
            if scope["type"] != "websocket":
                raise
            _protocol.info("nonsense on a websocket", exc_info=True)  # and no pong will come

    def _is_welcome(self, origin: str | None, environ: dict[str, Any]) -> bool:
        """The rule of the door, for servers with authentication too: CORS is off by default."""
        own = origin is None or origin.partition("://")[2] == environ.get("HTTP_HOST")
        return own or origin in self._origins

    # who is there

    async def _connect(self, sid: str, environ: Any, auth: Any) -> None:
        if sid in self._clients:  # a client may send an event of this name
            return
        token: Any = auth.get("token") if isinstance(auth, dict) else None
        try:
            if self._auth.required and not isinstance(token, str):
                raise Unauthorized("Connect with auth: {token}.")
            user = await self._auth.identify(f"Bearer {token}")
        except TurnlogError as error:
            refusal = {"code": error.code, "detail": str(error)}
            raise socketio.exceptions.ConnectionRefusedError(str(error), refusal) from None
        engine_id = self._sio.manager.eio_sid_from_sid(sid, "/")
        client = self._clients[sid] = Client(sid=sid, engine_id=engine_id, user=user)
        if self._auth.required:
            claims = jwt.decode(token, options={"verify_signature": False})  # proven above
            loop = asyncio.get_running_loop()
            when = loop.time() + int(claims["exp"]) - time.time()
            client.expiry = loop.call_at(when, lambda: self._spawn(self._send_away(client)))

    async def _gone(self, sid: str, reason: Any = None) -> None:
        client = self._clients.pop(sid, None)
        if client is None:
            return
        client.leave(*client.joined)
        if client.expiry is not None:
            client.expiry.cancel()
        socket = self._sio.eio.sockets.get(client.engine_id)
        if socket is not None:
            socket.queue.put_nowait(None)  # engine.io's word for the end, once the rest is sent

    async def _send_away(self, client: Client) -> None:
        await self._sio.disconnect(client.sid)

    # what it asks for

    async def _answer(self, event: Any, sid: str, *given: Any) -> Answer:
        client = self._clients.get(sid)
        try:
            if client is None:
                raise Unauthorized("Connect first.")
            await self._room(client)
            if event not in ACTIONS:
                raise BadInput(f"There is no event {event!r}. There are: {', '.join(ACTIONS)}.")
            kind, act = ACTIONS[event]
            return {"ok": True, **await act(self, client, _payload(given, kind))}
        except EXPLAINED as error:
            return {"ok": False, "error": _explained(error)}
        except Exception:
            _log.exception("%s failed", event)
            return {"ok": False, "error": _BUG}

    async def _join(self, client: Client, asked: Join) -> Answer:
        after = parse(asked.after) if asked.after else None
        session = await self._backend.store.get_session(client.user.id, asked.session_id)
        if session.id not in client.joined and len(client.joined) >= MOST_JOINED:
            raise BadInput(f"A socket can join {MOST_JOINED} sessions. Leave one first.")
        client.leave(session.id)
        if self._clients.get(client.sid) is client:  # it may have gone in the meantime
            start = _session_start(session, asked.after)
            client.joined[session.id] = self._spawn(self._follow(client, session.id, after, start))
        return {}

    async def _leave(self, client: Client, asked: Leave) -> Answer:
        client.leave(*(client.joined if asked.session_id is None else [asked.session_id]))
        return {}

    async def _message(self, client: Client, asked: Message) -> Answer:
        fields = msgspec.structs.asdict(asked)
        session_id = fields.pop("session_id")
        turn = await self._backend.start_turn(client.user.id, session_id, Question(**fields))
        return {"turnId": turn.turn_id}

    async def _stop(self, client: Client, asked: Stop) -> Answer:
        return {"stopped": await self._backend.stop_turn(client.user.id, asked.session_id)}

    async def _respond(self, client: Client, asked: Respond) -> Answer:
        raise NotAvailable("This server does not ask for approvals yet.")

    # what it is told

    async def _follow(
        self, client: Client, session_id: str, after: Cursor | None, start: bytes
    ) -> None:
        me = asyncio.current_task()
        try:
            await self._tell(client, start)
            follow = self._backend.follow(client.user.id, session_id, after)
            async with aclosing(follow) as batches:
                async for batch in batches:
                    for at in batch:
                        await self._tell(client, wire.encode(at))
        except Exception:  # it comes back, and is told what it missed
            _log.exception("a session could not be followed")
            self._spawn(self._send_away(client))
        finally:
            if client.joined.get(session_id) is me:
                del client.joined[session_id]

    async def _tell(self, client: Client, event: bytes) -> None:
        """One `agent:event`. The packet is put together here: the event is JSON already."""
        await self._room(client)
        await self._sio.eio.send(client.engine_id, f'2["agent:event",{event.decode()}]')

    async def _room(self, client: Client) -> None:
        """Wait until the client has read. One that has stopped reading is sent away."""
        socket = self._sio.eio.sockets.get(client.engine_id)
        if socket is None or socket.queue.qsize() < MOST_WAITING:
            return
        try:
            await asyncio.wait_for(socket.queue.join(), PATIENCE)
        except TimeoutError:
            client.leave(*client.joined)
            self._spawn(self._send_away(client))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


Act = Callable[[Sockets, Client, Any], Awaitable[Answer]]
# fmt: off
ACTIONS: dict[str, tuple[type[msgspec.Struct], Act]] = {
    "session:join":     (Join, Sockets._join),
    "session:leave":    (Leave, Sockets._leave),
    "chat:message":     (Message, Sockets._message),
    "chat:stop":        (Stop, Sockets._stop),
    "approval:respond": (Respond, Sockets._respond),
}
# fmt: on


def _payload(given: tuple[Any, ...], kind: type[T]) -> T:
    """What came with the event, checked as the body of a request is."""
    if len(given) > 1:
        raise BadInput("Send one object with the event.")
    try:
        raw = msgspec.json.encode(given[0] if given else {})
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError) as error:
        raise BadInput(f"The payload does not fit: {error}.") from None


def _explained(error: TurnlogError) -> dict[str, Any]:
    told: dict[str, Any] = {"code": error.code, "detail": str(error)}
    if isinstance(error, TooMany):
        told["retryAfter"] = error.retry_after
    return told


def _session_start(session: Session, after: str | None) -> bytes:
    """The first thing a client is told: it moves no cursor."""
    told = shown(session)
    placed = Placed(
        event=SessionStart(session=told, settings={"thinking": told["thinking"]}),
        event_id=str(uuid.uuid4()),
        at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        agent=AgentRef(id="turnlog", name="turnlog"),
        index=None,
        internal=False,
        kept=False,
    )
    at = Stamped(session_id=session.id, turn_id="", placed=placed, seq=None, position=-1)
    return msgspec.json.encode(wire.decode(wire.encode(at)) | {"cursor": after or BEGINNING})
