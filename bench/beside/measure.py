"""What a turn costs each server: CPU time of its process, what it wrote, and when chunks came."""

import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from bench.turns import CHARACTERS, LIVE
from bench.watchers import joined, new_session
from turnlog.simulator import Reply, ToolCall, to_json

Ask = Callable[[], Awaitable[None]]  # one turn, read to its end
Values = dict[str, list[float]]  # by what was measured: one value a round
STORED_TURNS = 100  # by which a database grows by many pages
LONGEST = 60  # seconds that a server may take to start
LIMITS = {"TURNLOG_MESSAGES_A_MINUTE": "1000000", "TURNLOG_TURNS_AT_ONCE": "100000",
          "TURNLOG_WRITES_A_MINUTE": "1000000", "TURNLOG_MAX_TOKENS": "128000"}  # fmt: skip
HERE = str(Path(__file__).parent.parent.parent)


class Server(NamedTuple):
    """A server process that is measured."""

    url: str
    pid: int
    folder: Path | None = None  # where it keeps what it stores

    @property
    def stored(self) -> int:
        """Bytes of the pages of its databases that are in use, as a reader sees them."""
        assert self.folder is not None, "nobody said where it keeps its files"
        return sum(map(_size, self.folder.glob("*.db")))

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far: the clock of another process, to the nanosecond."""
        return time.clock_gettime((~self.pid << 3) | 2)

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    @property
    def written(self) -> int:
        """Bytes that it has sent towards the disk so far."""
        return int(Path(f"/proc/{self.pid}/io").read_text().split("\nwrite_bytes:")[1].split()[0])


@asynccontextmanager
async def started(
    *command: str, port: int, folder: Path | None = None, **env: str
) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *command),
        env={**os.environ, **env, "PYTHONPATH": HERE},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _until_it_answers(port)
        yield Server(f"http://127.0.0.1:{port}", process.pid, folder)
    finally:
        process.terminate()
        await process.wait()


def _size(database: Path) -> int:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)


async def _until_it_answers(port: int) -> None:
    for _ in range(LONGEST * 20):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(1 / 20)
        else:
            writer.close()
            return
    raise TimeoutError(f"Nobody listens on port {port} after {LONGEST} seconds.")


class Floor:
    """Asks the floor."""

    async def session(self, http: aiohttp.ClientSession, url: str) -> Ask:
        line = await http.ws_connect(url)

        async def ask() -> None:
            await line.send_str("Go on.")
            while "complete" not in str((await line.receive()).data):
                pass

        return ask


class Sockets:
    """Asks turnlog over Socket.IO."""

    before: tuple[Reply, ...] = ()  # what Claude says in a turn before it answers

    async def session(self, http: aiohttp.ClientSession, url: str) -> Ask:
        watcher = await joined(http, url, await new_session(http, url))

        async def ask() -> None:
            await watcher.ask()
            await watcher.watch()
            assert '"complete"' in watcher.packets[-1][1], watcher.packets[-1][1]
            watcher.packets.clear()

        return ask


class Streams:
    """Asks turnlog over server-sent events."""

    async def session(self, http: aiohttp.ClientSession, url: str) -> Ask:
        path = f"{url}/api/sessions/{await new_session(http, url)}/messages"

        async def ask() -> None:
            accept = {"accept": "text/event-stream"}
            async with http.post(path, json={"message": "Go on."}, headers=accept) as response:
                assert b"event: complete" in await response.read()

        return ask


class Team(Sockets):
    """Asks a team: its first agent hands over to the second one, which answers."""

    before = (Reply("", ToolCall("transfer_to_worker", {"reason": "It knows."})),)


class Case(NamedTuple):
    """Turns of so many chunks, in so many sessions at once; `live`: at Claude's pace."""

    name: str
    unit: str  # what a value is per: a turn, or a chunk
    chunks: int
    sessions: int = 1
    turns: int = 5
    live: bool = False


CASES = (
    Case("one-chunk turn", "ms a turn", 1, turns=20),
    Case("200 chunks, burst", "ms a turn", 200),
    Case("10 sessions at 50 chunks a second", "us a chunk", 100, sessions=10, turns=1, live=True),
)


class Bench:
    """One round after the other, server after server, so that noise hits all alike."""

    def __init__(self, http: aiohttp.ClientSession, claude: str) -> None:
        self._http = http
        self._claude = claude

    async def cost(self, server: Server, client: Any, case: Case) -> tuple[float, float]:
        """CPU time in the case's unit, and bytes written to the disk a turn."""
        asks = [await client.session(self._http, server.url) for _ in range(case.sessions)]
        before = getattr(client, "before", ())
        short = case._replace(turns=1, chunks=min(case.chunks, 20), live=False)
        await self._run(asks, short, before)
        await asyncio.sleep(0.2)
        cpu, written = server.cpu, server.written
        await self._run(asks, case, before)
        spent, turns = server.cpu - cpu, case.sessions * case.turns
        per = turns if case.unit.startswith("ms") else turns * case.chunks * 1e-3
        return spent * 1e3 / per, (server.written - written) / turns

    async def stored(self, server: Server, client: Any, chunks: int) -> float:
        """Bytes that a turn leaves in the databases, in one session."""
        ask = await client.session(self._http, server.url)
        case = Case("", "", chunks, turns=STORED_TURNS)
        await self._run([ask], case._replace(turns=10), ())
        before = server.stored
        await self._run([ask], case, ())
        return (server.stored - before) / STORED_TURNS

    async def _run(self, asks: list[Ask], case: Case, before: tuple[Reply, ...]) -> None:
        reply = Reply("x" * CHARACTERS * case.chunks, chunk=CHARACTERS, delay=LIVE * case.live)
        for _ in range(case.turns):
            script = {"entries": [to_json(each) for each in (*before, reply)] * len(asks)}
            async with self._http.post(f"{self._claude}/sim/script", json=script) as answer:
                answer.raise_for_status()
            await asyncio.gather(*(ask() for ask in asks))
