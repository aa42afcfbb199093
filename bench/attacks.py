"""`python -m bench.attacks [NAME ...]`: a hostile model attacks a real server.

Each attack starts `turnlog serve` in a process of its own, asks one question, and says how the
turn ended, how long it took, the longest answer of /healthz meanwhile, the most memory that the
process had, and the size of its folder. Run it in an older checkout to compare.
"""

import asyncio
import gzip
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from turnlog.testing import server

MB = 1_000_000
GIVES_UP = 90.0  # seconds that an attack may take
Attack = Callable[[asyncio.StreamWriter], "asyncio.Future[None]"]


def frame(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
    "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
BEGIN = frame("message_start", message=MESSAGE)
BLOCK = frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
END = (
    frame("content_block_stop", index=0)
    + frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})
    + frame("message_stop")
)
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"


def text(piece: str) -> bytes:
    return frame("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})


async def one_frame(out: asyncio.StreamWriter) -> None:
    """One frame of 16 MB, in pieces of 16 kB."""
    out.write(OK + b"\r\n" + BEGIN + BLOCK + b'data: {"x": "')
    for _ in range(1_000):
        out.write(b"a" * 16_000)
        await out.drain()
    out.write(b'"}\n\n' + text("Hello.") + END)


async def gzip_bomb(out: asyncio.StreamWriter) -> None:
    """300 kB that unpack to 300 MB."""
    packed = gzip.compress(BEGIN + BLOCK + b"a" * 300 * MB)
    out.write(OK + b"content-encoding: gzip\r\n\r\n" + packed)
    await out.drain()


async def endless_answer(out: asyncio.StreamWriter) -> None:
    """An answer of 100 MB."""
    out.write(OK + b"\r\n" + BEGIN + BLOCK)
    piece = text("word " * 200)
    for _ in range(100_000):
        out.write(piece)
        await out.drain()
    out.write(END)


async def slow_answer(out: asyncio.StreamWriter) -> None:
    """Small chunks as fast as they are read, without an end; the turn may take 15 s."""
    out.write(OK + b"\r\n" + BEGIN + BLOCK)
    ping = frame("ping") * 200
    while True:
        out.write(ping)
        await out.drain()


async def endless_error(out: asyncio.StreamWriter) -> None:
    """An error whose body has 300 MB."""
    out.write(b"HTTP/1.1 400 No\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")
    for _ in range(3_000):
        out.write(b"a" * 100_000)
        await out.drain()


async def redirect(out: asyncio.StreamWriter) -> None:
    """Elsewhere, with the conversation and the key."""
    host, port = out.get_extra_info("sockname")
    there = f"location: http://{host}:{port}/stolen\r\n"
    out.write(f"HTTP/1.1 307 Go\r\n{there}content-length: 0\r\nconnection: close\r\n\r\n".encode())


async def surrogates(out: asyncio.StreamWriter) -> None:
    """Half of a character."""
    cut = text("Good X day").replace(b"X", rb"\ud83d")
    out.write(OK + b"\r\n" + BEGIN + BLOCK + cut + END)


async def no_call(out: asyncio.StreamWriter) -> None:
    """The stop reason says that there is a call, and there is none."""
    end = END.replace(b"end_turn", b"tool_use")
    out.write(OK + b"\r\n" + BEGIN + BLOCK + text("Hello.") + end)


ATTACKS = {
    each.__name__: each
    for each in (
        one_frame, gzip_bomb, endless_answer, slow_answer, endless_error, redirect, surrogates,
        no_call,
    )
}  # fmt: skip


@asynccontextmanager
async def hostile_model(attack: Attack) -> AsyncIterator[tuple[str, list[str]]]:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            asked.append(head.split()[1])
            length = next(
                (int(line.split(":")[1]) for line in head.splitlines()
                 if line.lower().startswith("content-length:")), 0
            )  # fmt: skip
            await reader.readexactly(length)
            await attack(out)
            await out.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            out.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}", asked
    finally:
        listening.close()


async def longest_health(http: aiohttp.ClientSession, url: str, found: list[float]) -> None:
    while True:
        began = time.monotonic()
        try:
            async with http.get(f"{url}/healthz") as response:
                await response.read()
        finally:  # also one that is never answered
            found[0] = max(found[0], time.monotonic() - began)
        await asyncio.sleep(0.02)


def peak_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1000


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def ask(http: aiohttp.ClientSession, url: str) -> str:
    async with http.post(f"{url}/api/sessions", json={}) as response:
        session = (await response.json())["id"]
    path = f"{url}/api/sessions/{session}/messages"
    async with http.post(path, json={"message": "Hello"}) as response:
        await response.read()
    while True:
        await asyncio.sleep(0.1)
        async with http.get(f"{url}/api/sessions/{session}/events?limit=100") as response:
            events = (await response.json())["events"]
        if len(events) > 1:
            last = events[-1]
            words = last.get("content", "")
            shown = f"{words[:20]!r} ({len(words)})" if words else last.get("error")
            return f"{last['type']} {last.get('code') or last.get('stopReason')}: {shown}"


async def run(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with hostile_model(ATTACKS[name]) as (claude, asked):
            env = {"TURNLOG_TURN_TIMEOUT": "15"}
            started = await server.start(Path(folder), claude, env=env)
            try:
                await started.ready()
                limit = aiohttp.ClientTimeout(total=GIVES_UP)
                async with aiohttp.ClientSession(timeout=limit) as http:
                    health, began = [0.0], time.monotonic()
                    watching = asyncio.create_task(longest_health(http, started.url, health))
                    try:
                        async with asyncio.timeout(GIVES_UP):
                            ending = await ask(http, started.url)
                    except TimeoutError:
                        ending = "no end"
                    took = time.monotonic() - began
                    watching.cancel()
                    await asyncio.wait([watching])
                size = size_of(Path(folder))
                stolen = asked.count("/stolen")
                sys.stdout.write(
                    f"{name:15} {took:5.1f} s  healthz {health[0] * 1000:6.0f} ms  memory"
                    f" {peak_memory(started.process.pid):5} MB  disk {size / MB:6.1f} MB "
                    f" asked {asked.count('/v1/messages')} stolen {stolen}  {ending}\n"
                )
                sys.stdout.flush()
            finally:
                await started.kill()


if __name__ == "__main__":
    for each in sys.argv[1:] or ATTACKS:
        asyncio.run(run(each))
