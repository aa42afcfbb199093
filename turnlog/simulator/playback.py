"""How a Reply leaves: each event as its own write, with the pauses and the ending it asks for."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice

import msgspec
from starlette.responses import Response, StreamingResponse

from . import stream
from .listener import HungUp
from .script import STATUS, Break, Cut, Json, Reply, Stall


def play(reply: Reply, body: Json, request_id: str) -> Response:
    """The response to an accepted request, streamed or whole as the request asks."""
    headers = {"request-id": request_id}
    if body.get("stream"):
        headers["cache-control"] = "no-cache"
        events = _events(reply, body)
        return StreamingResponse(events, 200, headers, "text/event-stream; charset=utf-8")
    if isinstance(reply.ending, Break):
        status = STATUS.get(reply.ending.type, 500)
        told = stream.error(reply.ending.type, reply.ending.message, request_id)
        return Response(msgspec.json.encode(told), status, headers, "application/json")
    whole = msgspec.json.encode(stream.message(reply, body))
    headers["content-length"] = str(len(whole))
    return StreamingResponse(_whole(reply, whole), 200, headers, "application/json")


async def _events(reply: Reply, body: Json) -> AsyncIterator[bytes]:
    await asyncio.sleep(reply.first_delay)
    for index, frame in enumerate(_frames(reply, body)):
        if isinstance(reply.ending, Stall) and reply.ending.after == index:
            await reply.ending.over()
        yield frame
        # Also when it is 0: uvloop joins the writes of one round of the loop.
        await asyncio.sleep(reply.delay)
    if isinstance(reply.ending, Cut) and not reply.ending.clean:
        raise HungUp


def _frames(reply: Reply, body: Json) -> Iterator[bytes]:
    frames = map(stream.frame, stream.events(reply, body))
    match reply.ending:
        case Cut(after=after):
            yield from islice(frames, after)
        case Break(after=after, type=type, message=message):
            yield from islice(frames, after)
            yield stream.frame(stream.error_event(type, message))
        case _:
            yield from frames


async def _whole(reply: Reply, whole: bytes) -> AsyncIterator[bytes]:
    """Without events, a cut is half of the body, and a stall comes before all of it."""
    await asyncio.sleep(reply.first_delay)
    match reply.ending:
        case Cut():
            yield whole[: len(whole) // 2]
            raise HungUp
        case Stall() as stall:
            await stall.over()
    yield whole
