"""Many sockets at once: what a server process costs, how late events are, and if any is lost.

Four processes: the server, a Claude that writes its clock into each piece, the clients, and
this one, which only waits. Everything is bounded: sockets, sessions, pieces and seconds.
"""

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.parts import Say, head, line
from bench.watchers import Lags, Seen
from turnlog.testing.server import serving

FILES = 16_384  # that a process may have open
NO_LIMITS = {"TURNLOG_TURNS_AT_ONCE": "10000", "TURNLOG_MESSAGES_A_MINUTE": "1000000"}


@dataclass(frozen=True, kw_only=True)
class Load:
    """So many sockets share so many sessions, which all stream at once."""

    sockets: int = 500
    sessions: int = 200
    chunks: int = 60  # of each answer
    pace: float = 0.1  # seconds between two of them


FULL = Load()
QUICK = Load(sockets=100, sessions=40, chunks=30)


async def measure(say: Say, folder: Path, load: Load) -> int:
    """Print the tables. How many events were lost, came twice or out of order."""
    seen = await watched(folder, load)
    _print(say, load, seen)
    return len(seen.broken)


async def watched(folder: Path, load: Load) -> Seen:
    """What the clients of a new server saw."""
    _allow_files()
    async with (
        _clocked_claude(load) as claude,
        serving(folder, claude, env=NO_LIMITS) as server,
    ):
        seen = await _watch(server.url, claude, load)
        await server.stop()
    return seen


def _allow_files() -> None:
    """Processes that we start inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@asynccontextmanager
async def _clocked_claude(load: Load) -> AsyncIterator[str]:
    process = await _module("clocked_claude", load.chunks, load.pace)
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def _watch(server: str, claude: str, load: Load) -> Seen:
    process = await _module("watchers", server, claude, load.sockets, load.sessions)
    told, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the clients of the benchmark failed: see above")
    return Seen(**json.loads(told))


async def _module(name: str, *args: object) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", f"bench.{name}", *map(str, args)]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


def _print(say: Say, load: Load, seen: Seen) -> None:
    title = f"{load.sockets} sockets, {load.sessions} sessions at {1 / load.pace:g} chunks/s"
    say(head(title, "p50 ms", "p99 ms", "of chunks"))
    say(line("while all of them stream", *_lag(seen.lags)))
    say(line("with the start, when all ask at once", *_lag(seen.all_lags)))
    say(line("the same streams read without turnlog", *_lag(seen.bare_lags)))
    say("  from Claude's write of a chunk, by the clock that it writes into it, to the client's")
    say("  read of the event that holds it; all processes share the cores of this machine.")
    say(head("The server process meanwhile", "µs an event", "of a core", "MB"))
    share, each = seen.cpu / seen.seconds, seen.cpu / seen.events * 1e6
    figures = f"{each:.0f}", f"{share:.0%}", f"{seen.megabytes:.0f}"
    say(line(f"{seen.events:,} events delivered in {seen.seconds:.1f} s, turns included", *figures))
    say(f"  lost, twice or out of order, by comparing each client with the log: {len(seen.broken)}")
    for what in seen.broken[:5]:
        say(f"    {what[:200]}")


def _lag(lags: Lags) -> Sequence[str]:
    ordered = sorted(lags)
    at = [ordered[int(len(ordered) * part)] * 1e3 for part in (0.5, 0.99)]
    return *(f"{lag:.1f}" for lag in at), f"{len(ordered):,}"
