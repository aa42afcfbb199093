"""How many Python calls a streamed chunk makes in the server, and in which files.

Claude is another process and the client another thread, so that neither is counted. A turn of
2N chunks minus one of N chunks leaves what a chunk costs; the pace is slower than the pacing
window, so that each chunk is an event of its own. A resumed coroutine counts as a call.
"""

import asyncio
import json
import sys
import sysconfig
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp

from bench.parts import Say, head, line
from bench.turns import CHARACTERS, simulator
from bench.watchers import joined, new_session
from turnlog.app import create_app
from turnlog.config import Settings
from turnlog.ports import Agent
from turnlog.simulator import Reply, to_json
from turnlog.testing.tabs import serve_sockets

AFTER = (10, 100)  # turns of a session, after which one more is counted
FEW = 5
CHUNKS = 40  # of the shorter turn
LAST = Path(__file__).parent / "last_calls.json"  # what was counted when it was last written
TOO_MANY = 1.05  # times the last value: worth a look
PACE = 0.06  # seconds between two chunks: longer than the window
LIBRARIES = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"))
HERE = str(Path(__file__).parent.parent)
Client = Callable[[str], Awaitable[None]]  # asks once at the server of that url, reads to the end


async def by_sse(url: str) -> None:
    """The client's own stream of its turn."""
    async with aiohttp.ClientSession() as http:
        path = f"{url}/api/sessions/{await new_session(http, url)}/messages"
        accept = {"accept": "text/event-stream"}
        async with http.post(path, json={"message": "Go on."}, headers=accept) as response:
            assert b"event: complete" in await response.read()


async def by_socket(url: str) -> None:
    async with aiohttp.ClientSession() as http:
        watcher = await joined(http, url, await new_session(http, url))
        await watcher.ask()
        await watcher.watch()
        await watcher.line.close()


async def turns_in(url: str, session: str, turns: int) -> None:
    """Ask so often in a session that there is."""
    async with aiohttp.ClientSession() as http:
        path = f"{url}/api/sessions/{session}/messages"
        for _ in range(turns):
            accept = {"accept": "text/event-stream"}
            async with http.post(path, json={"message": "Go on."}, headers=accept) as response:
                assert b"event: complete" in await response.read()


async def session_at(url: str) -> str:
    async with aiohttp.ClientSession() as http:
        return await new_session(http, url)


CLIENTS: dict[str, Client] = {"SSE": by_sse, "Socket.IO": by_socket}


async def measure(say: Say, folder: Path, *, write: bool = False) -> None:
    """Print the tables for one watcher over each transport, and the sums beside the last ones."""
    sums: dict[str, float] = {}
    async with simulator() as claude, aiohttp.ClientSession(claude) as http:
        settings = Settings(
            api_key="bench", base_url=claude, data=str(folder), messages_a_minute=100_000
        )
        app = create_app([Agent("assistant", prompt="You help.")], settings=settings)
        async with app, serve_sockets(app) as url:
            for name, client in CLIENTS.items():
                turn = _Turn(http, url, client)
                await turn.calls(1)  # the first turn imports what the others need
                one, short, long = [await turn.calls(n) for n in (1, CHUNKS, 2 * CHUNKS)]
                each = _each(short, long)
                _print(say, name, each, one)
                sums[f"{name}: a chunk"] = sum(each.values())
                sums[f"{name}: a turn of one chunk"] = float(sum(one.values()))
            for turns, calls in (await _growing(http, url)).items():
                sums[f"SSE: a short turn after {turns}"] = float(calls)
    _compare(say, sums)
    if write:
        LAST.write_text(json.dumps(sums, indent=1) + "\n")


async def _growing(claude: aiohttp.ClientSession, url: str) -> dict[int, int]:
    """Calls of a short turn of a session, by the turns before it: the fewest of some, because
    an answer may come in more or fewer pieces.
    """
    session = await asyncio.to_thread(asyncio.run, session_at(url))
    turn = _Turn(claude, url, lambda url: turns_in(url, session, 1))
    counted, before = {}, 0
    for turns in AFTER:
        missing = turns - before
        await turn.script(*[Reply("Yes.")] * missing)
        await asyncio.to_thread(asyncio.run, turns_in(url, session, missing))
        counted[turns] = min([sum((await turn.calls(1)).values()) for _ in range(FEW)])
        before = turns + FEW
    return counted


def _compare(say: Say, sums: dict[str, float]) -> None:
    """Counts do not depend on the load of the machine. It warns; it never fails."""
    last = json.loads(LAST.read_text()) if LAST.exists() else {}
    say(head("Python calls beside the last ones", "now", "last"))
    for name, calls in sums.items():
        before = last.get(name)
        note = "  MORE THAN BEFORE" if before and calls > before * TOO_MANY else ""
        say(line(name, f"{calls:,.1f}", f"{before:,.1f}" if before else "-") + note)


class _Turn:
    def __init__(self, claude: aiohttp.ClientSession, url: str, client: Client) -> None:
        self._claude = claude
        self._url = url
        self._client = client

    async def script(self, *replies: Reply) -> None:
        entries = [to_json(reply) for reply in replies]
        async with self._claude.post("/sim/script", json={"entries": entries}) as answer:
            answer.raise_for_status()

    async def calls(self, chunks: int) -> Counter[str]:
        """The calls of one turn with so many chunks, by file; with the client's connection."""
        await self.script(Reply("x" * CHARACTERS * chunks, chunk=CHARACTERS, delay=PACE))
        calls: Counter[str] = Counter()

        def count(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                calls[frame.f_code.co_filename] += 1

        sys.setprofile(count)
        try:
            await asyncio.to_thread(asyncio.run, self._client(self._url))
        finally:
            sys.setprofile(None)
        return calls


def _each(short: Counter[str], long: Counter[str]) -> dict[str, float]:
    """Calls of one chunk, by file."""
    return {name: (long[name] - short[name]) / CHUNKS for name in long}


def _print(say: Say, name: str, each: dict[str, float], one: Counter[str]) -> None:
    say(head(f"Python calls of the server, one watcher over {name}", "a chunk", "files"))
    _rows(say, {file: calls for file, calls in each.items() if calls >= 0.5})
    say(head("The same for a whole turn of one chunk", "a turn", "files"))
    _rows(say, {file: float(calls) for file, calls in one.items()}, most=20)
    say("  with a new session and, over Socket.IO, a new connection.")


def _rows(say: Say, files: dict[str, float], most: int | None = None) -> None:
    ours = {file: calls for file, calls in files.items() if _short(file).startswith("turnlog/")}
    for name, group in {"all of them": files, "of these turnlog's own": ours}.items():
        say(line(name, f"{sum(group.values()):,.1f}", str(len(group))))
    for file, calls in sorted(files.items(), key=lambda item: -item[1])[:most]:
        say(line(f"  {_short(file)}", f"{calls:,.1f}"))


def _short(file: str) -> str:
    for folder in (*LIBRARIES, HERE):
        file = file.removeprefix(folder + "/")
    return file
