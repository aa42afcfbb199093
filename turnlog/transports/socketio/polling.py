"""Engine.IO by polling: a request waits for packets, and another one brings some."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive

from turnlog.net import TooMuch
from turnlog.transports.http.request import SLOWEST_BODY
from turnlog.transports.socketio import packets
from turnlog.transports.socketio.connection import Connection
from turnlog.transports.websocket.frames import MOST_OF_A_STRANGER, Parcel

BETWEEN = "\x1e"  # two packets of one body
MOST_PACKETS = 1000  # of one body
WHILE_PROBING = 0.1  # seconds that a request waits while a websocket is tried out
BAD = {"code": 3, "message": "Bad request"}


def answer(parcels: Sequence[Parcel]) -> Response:
    body = BETWEEN.encode().join(parcel.text for parcel in parcels)
    return Response(body, media_type="text/plain", headers={"cache-control": "no-store"})


def refusal(why: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(why), 400, headers, "application/json")


async def get(connection: Connection, receive: Receive) -> Sequence[Parcel]:
    """What there is for the client, as soon as there is something. Empty: it asks twice at once,
    which is against the protocol, or has gone; the connection is then over.
    """
    if connection.poll is not None:
        connection.close()
        return []
    if not connection.outbox:
        await _something(connection, receive)
    return connection.taken() or ([packets.DONE] if connection.is_open else [])


async def _something(connection: Connection, receive: Receive) -> None:
    """Wait for a packet. A client that tries out a websocket uses it when no request of it waits
    any more, so one that came after the probe does not wait for long.
    """
    connection.poll = asyncio.get_running_loop().create_future()
    gone = asyncio.ensure_future(_gone(receive))
    patience = None if connection.probe is None else WHILE_PROBING
    try:
        await asyncio.wait(
            [connection.poll, gone], timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        if gone.done() and not connection.poll.done():
            connection.lost()
    finally:
        connection.poll = None
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def post(connection: Connection, receive: Receive) -> Response:
    """Packets of the client. It is answered when they are taken: who is too fast has to wait, and
    who does not wait is hung up on.
    """
    if connection.is_posting or connection.is_behind:
        connection.close()
        return refusal(BAD)
    connection.is_posting = True
    try:
        for packet in await _packets(connection, receive):
            connection.heard(packet)
        await connection.caught_up()
        return Response(b"ok", media_type="text/plain")
    except TimeoutError:
        connection.close()
        return refusal(BAD, {"connection": "close"})  # the rest of the body is not read
    except (ClientDisconnect, TooMuch, UnicodeDecodeError):
        connection.close()
        return refusal(BAD)
    finally:
        connection.is_posting = False


async def _packets(connection: Connection, receive: Receive) -> list[str]:
    """What the body says. Raises TimeoutError also where the connection is over before it."""
    try:
        async with asyncio.timeout(SLOWEST_BODY) as connection.reading:
            most = packets.MOST_BYTES if connection.is_known else MOST_OF_A_STRANGER
            body = await _body(receive, most)
    finally:
        connection.reading = None
    texts = body.decode().split(BETWEEN)
    if len(texts) > MOST_PACKETS:
        raise TooMuch
    return texts


async def _body(receive: Receive, most: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            raise TooMuch
        more = message.get("more_body", False)
    return bytes(body)
