"""`python -m bench.beside.crowd [--write]`: one session, then more and more, up to two thousand.

Each has a socket and asks at the same moment. An answer comes in pieces that Claude writes its
clock into, one every half second, so that no two of them share a window.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from bench.beside import page
from bench.load import Load, watched

SESSIONS = (1, 10, 100, 500, 1_000, 2_000)
PIECES, PACE = 20, 0.5
TITLES = {
    "crowd-cpu": "CPU-µs of an event, by sessions at once",
    "crowd-memory": "MB of the server, by sessions at once",
    "crowd-latency": "ms that half of the pieces are late, by sessions at once",
    "crowd-late": "ms that one piece of a hundred is late, by sessions at once",
}


async def crowd(sessions: int) -> list[float]:
    """A value for each title."""
    load = Load(sockets=sessions, sessions=sessions, chunks=PIECES, pace=PACE)
    with tempfile.TemporaryDirectory() as folder:
        seen = await watched(Path(folder), load)
    if seen.broken:
        raise RuntimeError(f"{len(seen.broken)} events are wrong: {seen.broken[0]}")
    lags = sorted(seen.lags or seen.all_lags)
    late = [lags[int(len(lags) * part)] * 1e3 for part in (0.5, 0.99)]
    return [seen.cpu / seen.events * 1e6, seen.megabytes, *late]


async def measured() -> dict[str, list[float]]:
    rows = [await crowd(each) for each in SESSIONS]
    return dict(zip(TITLES, map(list, zip(*rows, strict=True)), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.beside.crowd", description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    grown = asyncio.run(measured())
    rows = ["| sessions | " + " | ".join(f"{n:,}" for n in SESSIONS) + " |"]
    rows.append("|---" * (len(SESSIONS) + 1) + "|")
    for name, took in grown.items():
        says = TITLES[name].removesuffix(", by sessions at once")
        rows.append(f"| {says} | " + " | ".join(f"{value:,.1f}" for value in took) + " |")
    table = "\n".join(rows)
    sys.stdout.write(f"{table}\n")
    if args.write:
        for name, took in grown.items():
            page.draw(name, page.plot(TITLES[name], SESSIONS, {"Socket.IO": took}))
        page.put("crowd", "\n\n".join([table, page.pictures(grown)]))


if __name__ == "__main__":
    main()
