"""What a turn costs, as CPU time of this process: printed as tables, never asserted.

The simulated Claude runs in a process of its own, so that its work is not counted; nor is
anybody who listens: a turn's events are encoded for the wire and then dropped.
"""

import asyncio
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import uvicorn

from turnlog import bench_parts
from turnlog.app import Turnlog, create_app
from turnlog.config import Settings
from turnlog.ports import Question
from turnlog.simulators.claude import Reply, to_json
from turnlog.transports import sse
from turnlog.transports.auth import LOCAL_USER

Say = Callable[[str], None]
CHARACTERS = 12  # of one chunk
FEW = 10  # chunks of a turn that is measured for what it costs besides its chunks
LIVE = 0.02  # seconds between two chunks, about what Claude sends


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured. More rounds, less noise."""

    rounds: int
    burst: int  # chunks of one turn
    paced: int
    turns: int  # for the cost of one turn
    stored: int  # events
    looped: int  # chunks, stage by stage


FULL = Effort(rounds=5, burst=3000, paced=150, turns=20, stored=2000, looped=20_000)
QUICK = Effort(rounds=3, burst=1000, paced=60, turns=20, stored=500, looped=5_000)


def run(say: Say, quick: bool = False) -> int:
    """Measure everything, on the kind of event loop that the server has."""
    loop_factory = uvicorn.Config("turnlog").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_measure(say, QUICK if quick else FULL))
    return 0


async def _measure(say: Say, effort: Effort) -> None:
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as name:
        folder = Path(name)
        _describe(say, folder)
        async with _simulator() as url:
            settings = Settings(api_key="bench", base_url=url, data=str(folder / "app"))
            app = create_app(settings=settings)
            async with app, aiohttp.ClientSession(url) as http:
                bench = Bench(app, http)
                await bench.cpu(chunks=FEW)  # the first turn imports the SDK
                await _chunks(say, bench, effort)
                await _history(say, bench, effort)
        bench_parts.stages(say, effort.looped, effort.rounds)
        await bench_parts.appends(say, folder / "store", effort.stored)


def _describe(say: Say, folder: Path) -> None:
    loop = type(asyncio.get_running_loop()).__module__
    say("CPU time (user + system) of this process; the simulated Claude runs in another one.")
    say(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores;"
        f" Python {platform.python_version()} on {loop}, SQLite {sqlite3.sqlite_version};"
        f" one fsync in {folder.parent} takes {_fsync_ms(folder):.2f} ms"
    )


def _fsync_ms(folder: Path) -> float:
    took = []
    with (folder / "fsync").open("wb") as file:
        for _ in range(20):
            file.write(bytes(4096))
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - begun)
    return statistics.median(took) * 1e3


@asynccontextmanager
async def _simulator() -> AsyncIterator[str]:
    """The simulated Claude, in a process of its own."""
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

    def __init__(self, app: Turnlog, http: aiohttp.ClientSession) -> None:
        self.app = app
        self._http = http

    async def cpu(self, *, chunks: int, sessions: int = 1, pace: float = 0.0) -> float:
        """Seconds of CPU for one turn in each of so many new sessions, all at once."""
        ids = [(await self.app.create_session(LOCAL_USER)).id for _ in range(sessions)]
        return await self.cpu_in(ids, chunks=chunks, pace=pace)

    async def cpu_in(self, ids: list[str], *, chunks: int = FEW, pace: float = 0.0) -> float:
        await self._script(Reply("x" * CHARACTERS * chunks, chunk=CHARACTERS, delay=pace), len(ids))
        begun = time.process_time()
        await asyncio.gather(*map(self._turn, ids))
        return time.process_time() - begun

    async def _turn(self, session_id: str) -> None:
        turn = await self.app.start_turn(LOCAL_USER, session_id, Question(message="Go on, please."))
        async for _ in sse.frames(turn.events()):
            pass

    async def _script(self, reply: Reply, times: int) -> None:
        entries = {"entries": [to_json(reply)] * times}
        async with self._http.post("/sim/script", json=entries) as response:
            response.raise_for_status()


async def _chunks(say: Say, bench: Bench, effort: Effort) -> None:
    """What each chunk adds: a long turn less a short one, so that a turn's own cost is not in."""
    say("\nA streamed chunk, from Claude's socket to the bytes for the client   µs CPU per chunk")
    say("  (target: under 30)")
    modes = {
        "burst: as fast as it comes": (1, effort.burst, 0.0),
        "paced: 1 session, 50 chunks/s": (1, effort.paced, LIVE),
        "paced: 20 sessions, 50 chunks/s each": (20, effort.paced, LIVE),
    }
    for name, (sessions, chunks, pace) in modes.items():

        async def added(
            sessions: int = sessions, chunks: int = chunks, pace: float = pace
        ) -> float:
            short = await bench.cpu(chunks=FEW, sessions=sessions, pace=pace)
            long = await bench.cpu(chunks=chunks, sessions=sessions, pace=pace)
            return (long - short) / (chunks - FEW) / sessions

        say(f"  {name:66}{await _median(effort.rounds, added) * 1e6:8.1f}")


async def _history(say: Say, bench: Bench, effort: Effort) -> None:
    """Twenty turns move the window of a long session once around, the anchor's move included."""
    say(
        f"\nA turn with {FEW} chunks, by the number of earlier messages                ms CPU per turn"
    )
    store = bench.app.store

    async def short() -> float:
        ids = [await bench_parts.filled(store, 10) for _ in range(effort.turns)]
        return sum([await bench.cpu_in([one]) for one in ids]) / effort.turns

    async def long() -> float:
        one = await bench_parts.filled(store, 10_000)
        return sum([await bench.cpu_in([one]) for _ in range(effort.turns)]) / effort.turns

    at_10, at_10_000 = await _median(effort.rounds, short), await _median(effort.rounds, long)
    say(f"  10 earlier messages {at_10 * 1e3:54.2f}")
    say(f"  10,000 earlier messages {at_10_000 * 1e3:50.2f}")
    say(f"  ratio (target: within 1.20) {at_10_000 / at_10:46.2f}")


async def _median(rounds: int, measure: Callable[[], Awaitable[float]]) -> float:
    return statistics.median([await measure() for _ in range(rounds)])
