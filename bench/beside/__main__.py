"""`python -m bench.beside [--rounds N] [--json] [--write]`: turnlog beside the floor.

CPU time of each server's process, to the client's socket, and the ratio to the floor of the same
round; `--write` puts the table and the plots into docs/benchmarks.md.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import aiohttp

from bench.beside import page
from bench.beside.measure import (
    CASES,
    LIMITS,
    Bench,
    Case,
    Floor,
    Sockets,
    Streams,
    Values,
    started,
)  # fmt: skip
from bench.turns import simulator
from turnlog.testing.servers.process import free_port

SESSIONS = (1, 10, 50, 100)  # at once, of 20 live chunks each
LENGTHS = (1, 1_000, 5_000, 35_000)  # chunks of one answer: the longest has 100,000 tokens
STORED = {"short turn": 35, "4 kB answer": 350}  # chunks of answers whose bytes are counted


async def measured(rounds: int) -> dict[str, Values]:
    """By server, then by case."""
    values: dict[str, Values] = {"floor": {}, "Socket.IO": {}, "SSE": {}}
    async with AsyncExitStack() as stack:
        claude = await stack.enter_async_context(simulator())
        line = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=line))
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        ports = [free_port(), free_port()]
        floor = await stack.enter_async_context(
            started("bench.beside.floor", str(ports[0]), str(folders[0]), claude,
                    port=ports[0], folder=folders[0])
        )  # fmt: skip
        turnlog = await stack.enter_async_context(
            started("turnlog", "serve", "--port", str(ports[1]), "--data", str(folders[1]),
                    "bench.beside.plain:app", port=ports[1], folder=folders[1],
                    ANTHROPIC_API_KEY="bench", ANTHROPIC_BASE_URL=claude, **LIMITS)
        )  # fmt: skip
        bench = Bench(http, claude)
        served = {"floor": (floor, Floor()), "Socket.IO": (turnlog, Sockets()),
                  "SSE": (turnlog, Streams())}  # fmt: skip
        for _ in range(rounds + 1):  # the first one warms up
            for case in _cases():
                for name, (server, client) in served.items():
                    cost, written = await bench.cost(server, client, case)
                    values[name].setdefault(f"{case.name}, {case.unit}", []).append(cost)
                    if case in CASES[:2]:
                        values[name].setdefault(f"{case.name}, bytes to disk", []).append(written)
        for name, (server, client) in served.items():
            values[name]["memory at the end, MB"] = [server.megabytes] * 2
            for answer, chunks in STORED.items():
                kept = await bench.stored(server, client, chunks)
                values[name][f"{answer}, bytes stored"] = [kept] * 2
    return {name: {key: each[1:] for key, each in of.items()} for name, of in values.items()}


def _cases() -> list[Case]:
    live = [Case(f"{n} sessions", "us a chunk", 20, n, 1, live=True) for n in SESSIONS]
    long = [Case(f"{n} chunks", "ms a turn", n, turns=1) for n in LENGTHS]
    return [*CASES, *live, *long]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.beside", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="every value of every round")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    values = asyncio.run(measured(args.rounds))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    if args.json:
        sys.stdout.write(json.dumps({"machine": machine, "values": values}, indent=1) + "\n")
        return
    text = page.table(values)
    sys.stdout.write(f"{machine}\n{text}\n")
    if args.write:
        page.write(values, machine, median(os.getloadavg()), SESSIONS, LENGTHS)


main()
