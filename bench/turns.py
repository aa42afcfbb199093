"""What a turn costs, as CPU time of this process.

The simulated Claude runs in a process of its own, so that its work is not counted; nor is
anybody's who listens: a turn's events are encoded for the wire and then dropped.
"""

import asyncio
import os
import platform
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from bench import cache
from bench.billing import billing
from bench.parts import Say, appends, filled, head, line, stages
from turnlog.app import Turnlog, create_app
from turnlog.config import Settings
from turnlog.contrib import demo
from turnlog.ports import Agent, Question
from turnlog.simulator import Reply, to_json
from turnlog.transports import sse
from turnlog.transports.access.auth import LOCAL_USER

CHARACTERS = 12  # of one chunk
FEW = 10  # chunks of a short turn
LIVE = 0.02  # seconds between two chunks: about what Claude sends
CYCLE = 20  # turns after which the window of a long session is where it was
ASK = (
    b'{"model": "m", "max_tokens": 9, "stream": true,'
    b' "messages": [{"role": "user", "content": "x"}]}'
)
BARE_REQUEST = (
    b"POST /v1/messages HTTP/1.1\r\nhost: simulator\r\nx-api-key: bench\r\n"
    b"anthropic-version: 2023-06-01\r\ncontent-length: %d\r\n\r\n%b" % (len(ASK), ASK)
)
Streams = Callable[[int, int, float], Awaitable[float]]  # sessions, chunks, pace -> CPU seconds


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured. More rounds, less noise."""

    rounds: int
    burst: int  # chunks of a long turn, as fast as they come
    paced: int  # and at Claude's pace
    looped: int  # and without any I/O
    stored: int  # events


FULL = Effort(rounds=5, burst=3000, paced=110, looped=20_000, stored=2000)
QUICK = Effort(rounds=3, burst=1000, paced=50, looped=5_000, stored=500)


async def measure(say: Say, folder: Path, effort: Effort) -> None:
    async with simulator() as url:
        settings = Settings(
            api_key="bench",
            base_url=url,
            data=str(folder / "app"),
            messages_a_minute=1_000_000,
            turns_at_once=1_000,
        )
        agent = Agent("assistant", prompt="You help.", tools=[demo.current_time, demo.calculate])
        app = create_app([agent], settings=settings)
        async with app, aiohttp.ClientSession(url) as http:
            bench = Bench(app, http, url)
            await bench.new_turns(1, FEW, 0.0)  # the first turn is not like the others
            await _chunks(say, bench, effort)
            await _history(say, bench, effort)
    stages(say, effort.looped, effort.rounds)
    await appends(say, folder / "store", effort.stored)
    await cache.run(say)
    await billing(say, folder / "billing", effort.rounds)


def describe(say: Say, folder: Path) -> None:
    loop = type(asyncio.get_running_loop()).__module__
    say("CPU time, user and system, of this process. The simulated Claude runs in another one.")
    say(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores;"
        f" Python {platform.python_version()} on {loop}; SQLite {sqlite3.sqlite_version};"
        f" an fsync in {folder.parent} takes {_fsync_ms(folder):.2f} ms"
    )


def _fsync_ms(folder: Path) -> float:
    took = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(20):
            file.write(bytes(4096))
            begun = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - begun)
    return median(took) * 1e3


@asynccontextmanager
async def simulator() -> AsyncIterator[str]:
    """The simulated Claude, in a process of its own; its url."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "turnlog.cli", "sim", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        said = await process.stdout.readline()
        yield said.decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


class Bench:
    """Runs turns and says what they cost."""

    def __init__(self, app: Turnlog, http: aiohttp.ClientSession, simulator: str) -> None:
        self.app = app
        self._http = http
        self._simulator = urlsplit(simulator)

    async def turns(self, ids: Sequence[str], chunks: int = FEW, pace: float = 0.0) -> float:
        """Seconds of CPU for one turn in each of these sessions, all at once."""
        await self._script(chunks, pace, len(ids))
        return await _cpu(asyncio.gather(*map(self._turn, ids)))

    async def new_turns(self, sessions: int, chunks: int, pace: float) -> float:
        """The same in so many new sessions."""
        ids = [(await self.app.create_session(LOCAL_USER)).id for _ in range(sessions)]
        return await self.turns(ids, chunks, pace)

    async def bare_reads(self, sessions: int, chunks: int, pace: float) -> float:
        """The same streams, read from their sockets and dropped."""
        await self._script(chunks, pace, sessions)
        return await _cpu(asyncio.gather(*(self._read() for _ in range(sessions))))

    async def _turn(self, session_id: str) -> None:
        turn = await self.app.start_turn(LOCAL_USER, session_id, Question(message="Go on, please."))
        async for batch in self.app.follow_turn(LOCAL_USER, turn):
            sse.frames(batch)

    async def _read(self) -> None:
        address = self._simulator
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(BARE_REQUEST)
        while b"message_stop" not in await reader.read(65536):
            pass
        writer.close()

    async def _script(self, chunks: int, pace: float, times: int) -> None:
        reply = Reply("x" * CHARACTERS * chunks, chunk=CHARACTERS, delay=pace)
        entries = {"entries": [to_json(reply)] * times}
        async with self._http.post("/sim/script", json=entries) as response:
            response.raise_for_status()


async def _chunks(say: Say, bench: Bench, effort: Effort) -> None:
    title = "A chunk, from Claude's socket to bytes for a client"
    say(head(title, "µs a chunk", "bare read", "ms besides"))
    modes = {
        "burst, as fast as it comes": (1, effort.burst, 0.0),
        "paced, 1 session at 50 chunks/s": (1, effort.paced, LIVE),
        "paced, 20 sessions at 50 chunks/s each": (20, effort.paced, LIVE),
    }
    for name, mode in modes.items():
        took = [
            (*await _cost(bench.new_turns, *mode), *await _cost(bench.bare_reads, *mode))
            for _ in range(effort.rounds)
        ]
        chunk, turn, bare, _ = map(median, zip(*took, strict=True))
        say(line(name, f"{chunk * 1e6:.1f}", f"{bare * 1e6:.1f}", f"{turn * 1e3:.2f}"))
    say("  target: under 30 µs. A bare read, dropped, is what waking up for a chunk costs here;")
    say("  'besides' is what a turn costs before its first chunk and after its last.")


async def _cost(streams: Streams, sessions: int, chunks: int, pace: float) -> tuple[float, float]:
    """Seconds for each chunk, and for each turn besides: a long turn against a short one."""
    short = await streams(sessions, FEW, pace) / sessions
    long = await streams(sessions, chunks, pace) / sessions
    chunk = (long - short) / (chunks - FEW)
    return chunk, short - FEW * chunk


async def _history(say: Say, bench: Bench, effort: Effort) -> None:
    """In a long session the mean of one cycle, so that the anchor moves once."""
    say(
        head(f"A turn of {FEW} chunks, by the messages before it", "ms at 10", "at 10,000", "ratio")
    )
    old, took = await filled(bench.app.store, 10_000), []
    for _ in range(effort.rounds):
        new = [await filled(bench.app.store, 10) for _ in range(CYCLE)]
        pairs = [(await bench.turns([one]), await bench.turns([old])) for one in new]
        took.append([sum(seconds) / CYCLE for seconds in zip(*pairs, strict=True)])
    at_10, at_10_000 = map(median, zip(*took, strict=True))
    ratio = median([long / short for short, long in took])
    name = "from the question to `complete`"
    say(line(name, f"{at_10 * 1e3:.2f}", f"{at_10_000 * 1e3:.2f}", f"{ratio:.2f}"))
    say("  target: a ratio within 1.20. The model is told 20 to 60 messages of a long session.")


async def _cpu(work: Awaitable[Any]) -> float:
    begun = time.process_time()
    await work
    return time.process_time() - begun
