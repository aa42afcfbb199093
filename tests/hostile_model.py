"""A model that breaks every rule: bytes as a test wants them, over a real socket."""

import asyncio
import contextlib
import json
from contextlib import asynccontextmanager

USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {"id": "msg_1", "role": "assistant", "model": "m", "content": [], "usage": USAGE}


def frame(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def text(piece):
    return frame("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})


BEGIN = frame("message_start", message=MESSAGE) + frame(
    "content_block_start", index=0, content_block={"type": "text", "text": ""}
)


def end(stop_reason="end_turn"):
    return (
        frame("content_block_stop", index=0)
        + frame("message_delta", delta={"stop_reason": stop_reason}, usage=USAGE)
        + frame("message_stop")
    )


def head(status="200 OK", *more):
    lines = [f"HTTP/1.1 {status}", "content-type: text/event-stream", "connection: close", *more]
    return "\r\n".join([*lines, "", ""]).encode()


@asynccontextmanager
async def hostile(*pieces):
    """Answers each request with the pieces, bytes or functions that make them; its url, and the
    heads of the requests. An endless iterator is sent until nobody reads it any more."""
    heads = []

    async def answer(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for piece in pieces:
                for each in [piece] if isinstance(piece, bytes) else piece(writer):
                    writer.write(each)
                    await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", heads
