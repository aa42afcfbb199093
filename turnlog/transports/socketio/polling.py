"""Engine.IO by polling: a request waits for packets, and another one brings some."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive

from turnlog.transports.http.request import MOST_BYTES
from turnlog.transports.socketio import packets
from turnlog.transports.socketio.connection import Connection
from turnlog.transports.websocket.frames import Parcel

BETWEEN = "\x1e"  # two packets of one body
MOST_PACKETS = 1000  # of one body


def answer(parcels: Sequence[Parcel]) -> Response:
    body = BETWEEN.encode().join(parcel.text for parcel in parcels)
    return Response(body, media_type="text/plain", headers={"cache-control": "no-store"})


def refusal(why: dict[str, Any], status: int = 400) -> Response:
    return Response(msgspec.json.encode(why), status, media_type="application/json")


async def get(connection: Connection, receive: Receive) -> Sequence[Parcel]:
    """What there is for the client, as soon as there is something. Empty: it asks twice at once,
    which is against the protocol, or has gone; the connection is then over.
    """
    if connection.poll is not None:
        connection.close()
        return []
    if not connection.outbox and not connection.is_upgrading:
        await _something(connection, receive)
    # What waits while a websocket is tried out goes by that one.
    return [packets.DONE] if connection.is_upgrading else connection.taken()


async def _something(connection: Connection, receive: Receive) -> None:
    connection.poll = asyncio.get_running_loop().create_future()
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait([connection.poll, gone], return_when=asyncio.FIRST_COMPLETED)
        if not connection.poll.done():
            connection.lost()
    finally:
        connection.poll = None
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def post(connection: Connection, receive: Receive) -> Response:
    """Packets of the client. It is answered when they are taken: who is too fast has to wait."""
    body, more = bytearray(), True
    while more and len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
    try:
        said = body.decode().split(BETWEEN)
    except UnicodeDecodeError:
        said = []
    if more or not 1 <= len(said) <= MOST_PACKETS:
        connection.close()
        return refusal({"code": 3, "message": "Bad request"})
    for packet in said:
        connection.heard(packet)
    await connection.caught_up()
    return Response(b"ok", media_type="text/plain")
