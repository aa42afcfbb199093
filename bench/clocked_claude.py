"""A simulated Claude in a process of its own, which writes into each piece when it sent it.

    python -m bench.clocked_claude CHUNKS PACE

Every answer has so many pieces, so many seconds apart; its url is the first line it prints.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from turnlog.simulator import Reply
from turnlog.simulator.listener import listen
from turnlog.simulator.stream import events, frame

DIGITS = 16  # of a piece: microseconds since 1970, for some centuries


def clock() -> str:
    """Now, as a piece of text of fixed size. All processes of a machine share this clock."""
    return f"{time.time_ns() // 1000:0{DIGITS}d}"


def sent_at(text: str) -> list[float]:
    """When each of the pieces that this text consists of was sent, in seconds."""
    return [int(text[at : at + DIGITS]) / 1e6 for at in range(0, len(text), DIGITS)]


def clocked_claude(chunks: int, pace: float) -> Starlette:
    reply = Reply("0" * DIGITS * chunks, chunk=DIGITS)

    async def answer(request: Request) -> Response:
        await request.body()
        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def pieces() -> AsyncIterator[bytes]:
        for event in events(reply, {"model": "clocked", "messages": []}):
            if event["type"] == "content_block_delta":
                await asyncio.sleep(pace)
                event["delta"]["text"] = clock()
            yield frame(event)

    return Starlette(routes=[Route("/v1/messages", answer, methods=["POST"])])


async def main(chunks: int, pace: float) -> None:
    async with listen(clocked_claude(chunks, pace), "127.0.0.1", 0) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    loop_factory = uvicorn.Config("turnlog").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main(int(sys.argv[1]), float(sys.argv[2])))
