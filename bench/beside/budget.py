"""`python -m bench.beside.budget [--write]`: where the time of a chunk goes, from socket to socket.

Each step in a loop, on the output of the one before: for a chunk that comes alone, and for one
of three that piled up within the window (50 a second, 50 ms).
"""

import argparse
import asyncio
import gc
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.beside import page
from bench.parts import stage_times, stored_time
from turnlog.engines.claude.http.exchange import Exchange
from turnlog.engines.claude.http.pool import Link, Pool, Silence

ALONE, PILED = 1, 3
CHUNKS, ROUNDS = 3_000, 7
# The stages of bench/parts.py, by the steps of the budget.
FOLD = ("accumulate the answer", "normalize", "place", "stamp")
STEPS: dict[str, Sequence[str]] = {
    "decode": ("split the bytes, decode the JSON",),
    "fold": FOLD,
    "encode": ("encode", "frame for the wire"),
}
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b"78\r\n%b\r\n" % (b"x" * 120)
FRAME = b"x" * 500  # about what a chunk has on the wire


def budget(together: int) -> dict[str, float]:
    """Microseconds of CPU a chunk, by step."""
    runs = [stage_times(CHUNKS, together) for _ in range(ROUNDS)]
    stages = {name: median([run[name] for run in runs]) / CHUNKS * 1e6 for name in runs[0]}
    steps = {step: sum(stages[name] for name in names) for step, names in STEPS.items()}
    return {
        "read": _each(_read, together),
        **steps,
        "send": _each(_send, together),
    }


def _each(work: Callable[[int], None], together: int) -> float:
    """Microseconds a chunk; the best of some rounds."""
    took = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work(together)
        took.append(time.process_time() - begun)
    return min(took) / CHUNKS * 1e6


def _read(together: int) -> None:
    """Into the exchange with the model, and out of it in one piece."""

    async def read() -> None:
        exchange = Exchange(asyncio.Transport(), owner=Pool(_nowhere, silence=Silence(600.0, 90.0)))
        exchange.data_received(HEAD)
        await exchange.head()
        for _ in range(CHUNKS // together):
            for _ in range(together):
                exchange.data_received(CHUNK)
            await exchange.read()

    asyncio.run(read())


async def _nowhere() -> Link:
    raise NotImplementedError


def _send(together: int) -> None:
    """One write into a socket for what is sent together."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(CHUNKS // together):
            ours.send(FRAME)
            theirs.recv(2**16)


def table() -> str:
    gc.disable()  # it would hit one step or the other
    alone, piled = budget(ALONE), budget(PILED)
    gc.enable()
    lines = ["| µs a chunk | alone | of three in a window |", "|---|---|---|"]
    lines += [f"| {step} | {alone[step]:.1f} | {piled[step]:.1f} |" for step in alone]
    lines.append(f"| **sum** | {sum(alone.values()):.1f} | {sum(piled.values()):.1f} |")
    with tempfile.TemporaryDirectory() as folder:
        stored = asyncio.run(stored_time(Path(folder))) * 1e6
    lines.append(f"| store: a message, once an answer | {stored:,.0f} | {stored:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.beside.budget", description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    text = table()
    sys.stdout.write(f"{text}\n")
    if args.write:
        page.put("budget", text)


if __name__ == "__main__":
    main()
