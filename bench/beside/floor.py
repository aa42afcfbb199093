"""The floor: a question by WebSocket, an answer read from Claude and sent on, both kept in SQLite.

    python -m bench.beside.floor PORT FOLDER CLAUDE

No framework, no users, no recovery: what any server of this kind must pay at the least. The
question is on disk before Claude is asked, the answer before its end is told; synchronous=FULL.
"""

import asyncio
import json
import sqlite3
import sys
from typing import Any

import aiohttp
import msgspec
import uvicorn
from aiohttp import web

decode, encode = msgspec.json.decode, msgspec.json.encode


class Log:
    """Events in SQLite, each commit in a thread."""

    def __init__(self, folder: str) -> None:
        self._db = sqlite3.connect(f"{folder}/floor.db", check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS log (session, seq, event)")
        self._one_at_a_time = asyncio.Lock()

    async def append(self, *row: Any) -> None:
        async with self._one_at_a_time:
            await asyncio.to_thread(self._append, row)

    def _append(self, row: tuple[Any, ...]) -> None:
        with self._db:
            self._db.execute("INSERT INTO log VALUES (?, ?, ?)", row)


async def talk(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    messages: list[dict[str, Any]] = []
    async for question in socket:
        messages.append({"role": "user", "content": question.data})
        await LOG.append(id(socket), len(messages), question.data)
        text = ""
        body = {"model": "m", "max_tokens": 9999, "stream": True, "messages": messages}
        async with HTTP.post(f"{CLAUDE}/v1/messages", data=encode(body), headers=KEY) as answer:
            rest = b""
            async for piece in answer.content.iter_any():
                *frames, rest = (rest + piece).split(b"\n\n")
                for frame in frames:
                    event = decode(frame[frame.index(b"data: ") + 6 :])
                    if event["type"] == "content_block_delta":
                        text += event["delta"]["text"]
                        await socket.send_bytes(encode({"chunk": event["delta"]["text"]}))
        messages.append({"role": "assistant", "content": text})
        await LOG.append(id(socket), len(messages), text)
        await socket.send_str(json.dumps({"complete": True}))
    return socket


async def main(port: str, folder: str, claude: str) -> None:
    global LOG, HTTP, CLAUDE  # one server a process
    LOG, CLAUDE = Log(folder), claude
    HTTP = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    app = web.Application()
    app.router.add_get("/", talk)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(port)).start()
    await asyncio.Event().wait()


KEY = {"x-api-key": "bench", "anthropic-version": "2023-06-01", "content-type": "application/json"}
LOG: Log
HTTP: aiohttp.ClientSession
CLAUDE: str

if __name__ == "__main__":
    loop_factory = uvicorn.Config("turnlog", log_config=None).get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main(*sys.argv[1:4]))
