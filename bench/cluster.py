"""How much one, two and three nodes on PostgreSQL and Valkey do, beside one node on SQLite.

    python -m bench.cluster [ROUNDS] [--write]

All of it shares this machine, so the ratios matter, not the numbers. Each turn is a question over
HTTP, an answer of twenty chunks from the simulated Claude, and a stream that shows it to its end.
Each round measures all four, one after the other: sixty people at once for the throughput, and
then one alone, for the time that a turn takes when nobody else asks. `--write` puts the tables
into docs/scale.md, and the costs where the simulation finds them.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import asyncpg

from bench.scale import page, simulation
from bench.scale.processor import seconds
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.testing.server import ServerProcess, serving
from turnlog.testing.servers.cluster import Person, cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.valkey import Valkey

ROUNDS, AT_ONCE, TURNS, ALONE = 3, 60, 240, 20
TEXT = " ".join(f"word-{n}" for n in range(20))
LIMITS = {"TURNLOG_MESSAGES_A_MINUTE": "1000000", "TURNLOG_TURNS_AT_ONCE": "1000"}
PLACES = {0: "SQLite, one node", 1: "PostgreSQL, one node", 2: "two nodes", 3: "three nodes"}
GROWN = """
SELECT xact_commit, pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_database_size(datname)
FROM pg_stat_database WHERE datname = current_database()
"""


@dataclass
class Measured:
    """One value for each round."""

    rate: list[float] = field(default_factory=list)  # turns a second
    alone: list[float] = field(default_factory=list)  # milliseconds of a turn, nobody else there
    cpu: dict[str, list[float]] = field(default_factory=dict)  # milliseconds a turn, by server
    database: list[tuple[float, ...]] = field(default_factory=list)  # a turn: commits and bytes


@dataclass
class Place:
    """Servers that run, and what of them is measured."""

    http: aiohttp.ClientSession
    nodes: Sequence[ServerProcess]
    database: Postgres | None = None
    redis: Valkey | None = None

    def worked(self) -> dict[str, float]:
        """Seconds of CPU so far."""
        of = {"nodes": [node.process.pid for node in self.nodes]}
        for name, server in (("database", self.database), ("Redis", self.redis)):
            if server is not None and server.server.process is not None:
                of[name] = [server.server.process.pid]
        return {name: sum(map(seconds, pids)) for name, pids in of.items()}

    async def grown(self) -> tuple[float, ...]:
        if self.database is None:
            return ()
        db = await asyncpg.connect(self.database.url)
        try:
            return tuple(float(each) for each in await db.fetchrow(GROWN))
        finally:
            await db.close()

    async def ask(self, people: int, turns: int) -> list[float]:
        """How long each turn took, in seconds."""
        times: list[float] = []
        left = iter(range(turns))

        async def person(place: int) -> None:
            somebody = Person(self.http, self.nodes[place % len(self.nodes)].url)
            session = await somebody.session()
            path = f"{somebody.url}/api/sessions/{session}/messages"
            headers = {"accept": "text/event-stream"}
            for _ in left:
                began = time.perf_counter()
                body = {"message": "Hello"}
                async with self.http.post(path, json=body, headers=headers) as response:
                    async for line in response.content:
                        if line.startswith((b"event: complete", b"event: error")):
                            break
                times.append(time.perf_counter() - began)

        await asyncio.gather(*(person(n) for n in range(people)))
        return times


async def measure(place: Place, into: Measured) -> None:
    await place.ask(AT_ONCE, AT_ONCE)  # to warm up
    worked, grown, began = place.worked(), await place.grown(), time.perf_counter()
    await place.ask(AT_ONCE, TURNS)
    into.rate.append(TURNS / (time.perf_counter() - began))
    for name, after in place.worked().items():
        into.cpu.setdefault(name, []).append(1e3 * (after - worked[name]) / TURNS)
    both = zip(grown, await place.grown(), strict=True)
    into.database.append(tuple((after - before) / TURNS for before, after in both))
    into.alone.append(1e3 * statistics.median(await place.ask(1, ALONE)))


@asynccontextmanager
async def started(http: aiohttp.ClientSession, claude: str, size: int) -> AsyncIterator[Place]:
    """So many nodes on PostgreSQL; none of them is one on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        if not size:
            async with serving(Path(folder), claude, env=LIMITS) as server:
                yield Place(http, [server])
            return
        postgres, valkey = Postgres(fsync="on"), Valkey()
        async with AsyncExitStack() as stack:
            for server in (postgres, valkey):
                stack.callback(server.close)
                server.start()
            urls = {"database": postgres.url, "redis": valkey.url}
            nodes = cluster(Path(folder), claude, **urls, size=size, **LIMITS)
            yield Place(http, (await stack.enter_async_context(nodes)).nodes, postgres, valkey)


def table(found: dict[int, Measured], load: float) -> str:
    first = found[0]
    lines = [
        f"{os.cpu_count()} cores, {len(first.rate)} rounds: medians, with their ranges. The load"
        f" of the machine before was {load:.1f}.",
        "",
        "| | turns a second, to SQLite | a turn alone | added | CPU of a turn: nodes, database,"
        " Redis |",
        "|---|---|---|---|---|",
    ]
    for size, each in found.items():
        ratios = [mine / its for mine, its in zip(each.rate, first.rate, strict=True)]
        added = [mine - its for mine, its in zip(each.alone, first.alone, strict=True)]
        ratio = "" if not size else f"{_range(ratios, 2)}: "
        lines.append(
            f"| {PLACES[size]} | {ratio}{_range(each.rate, 1)} | {_range(each.alone, 0)} ms |"
            f" {_range(added, 0) + ' ms' if size else '–'} |"
            f" {', '.join(f'{_range(cpu, 1)} ms' for cpu in each.cpu.values())} |"
        )
    return "\n".join(lines)


def _range(values: Sequence[float], digits: int) -> str:
    least, middle, most = (f(values) for f in (min, statistics.median, max))
    return f"{middle:.{digits}f} ({least:.{digits}f}–{most:.{digits}f})"


def note(found: dict[int, Measured]) -> None:
    """What the simulation counts with: of the largest number of nodes."""
    last = found[max(found)]
    commits, journal, kept = (statistics.median(each) for each in zip(*last.database, strict=True))
    names = {"nodes": "node_ms", "database": "database_ms", "Redis": "redis_ms"}
    cpu = {names[name]: round(statistics.median(each), 2) for name, each in last.cpu.items()}
    database = {"commits": commits, "written_bytes": journal + kept, "kept_bytes": kept}
    page.note_costs(**cpu, **{name: round(value, 1) for name, value in database.items()})


async def main(rounds: int, *, write: bool) -> None:
    load = os.getloadavg()[0]
    found = {size: Measured() for size in PLACES}
    sim = SimulatedClaude(answer=lambda body: Reply(TEXT))
    async with sim.serve() as claude, aiohttp.ClientSession() as http:
        for _ in range(rounds):
            for size, measured in found.items():
                async with started(http, claude, size) as place:
                    await measure(place, measured)
    text = table(found, load)
    sys.stdout.write(text + "\n")
    if write:
        page.put("cluster", text)
        note(found)
        simulation.write()


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asyncio.run(main(*(numbers or [ROUNDS]), write="--write" in sys.argv[1:]))
