"""The wire formats of Bedrock, Vertex and Foundry in front of a simulated Claude."""

import base64
import json
import struct
import zlib
from urllib.parse import unquote

import aiohttp
from aiohttp import web
from aiohttp_server import listening


def frame(headers, payload):
    """One frame of AWS's event stream."""
    packed = b"".join(
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    head = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return head + struct.pack(">I", zlib.crc32(head))


def chunk(event):
    data = {"bytes": base64.b64encode(event).decode(), "p": "abc"}
    headers = {":event-type": "chunk", ":content-type": "application/json",
               ":message-type": "event"}  # fmt: skip
    return frame(headers, json.dumps(data).encode())


def exception(kind, message):
    headers = {":exception-type": kind, ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())


class Cloud:
    """Checks what each platform wants of a request, and asks the simulator with the rest."""

    def __init__(self, sim_url, breaks=None):
        self._sim = sim_url
        self._breaks = breaks  # a frame that comes instead of the rest
        self.seen = []  # (path, headers, body)

    def serve(self):
        return listening(self._answer)

    async def _answer(self, request):
        body = await request.json()
        path = unquote(request.path)
        self.seen.append((path, dict(request.headers), dict(body)))
        on_bedrock = path.endswith("/invoke-with-response-stream")
        if on_bedrock:
            body |= {"model": path.split("/")[2], "stream": True}
        elif ":streamRawPredict" in path:
            body["model"] = path.rpartition("/")[2].removesuffix(":streamRawPredict")
        body.pop("anthropic_version", None)
        body.pop("anthropic_beta", None)
        response = web.StreamResponse()
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{self._sim}/v1/messages", json=body, headers=headers) as answer,
        ):
            response.set_status(answer.status)
            await response.prepare(request)
            whole = await answer.read()
        await response.write(self._framed(whole) if on_bedrock else whole)
        return response

    def _framed(self, stream):
        events = [
            part.split(b"data: ", 1)[1] for part in stream.split(b"\n\n") if b"data: " in part
        ]
        events = [event.split(b"\n")[0] for event in events]
        if self._breaks:
            return b"".join(map(chunk, events[:4])) + self._breaks
        return b"".join(map(chunk, events))
