"""How the cost of a turn grows: with those who watch, with what was said before, with results.

`python -m bench.beside.growth [--write]`. Each is flat, or a straight line.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import aiohttp

from bench.beside import page
from bench.beside.measure import LIMITS, Server, started
from bench.parts import filled
from bench.turns import simulator
from bench.watchers import Watcher, joined, new_session
from turnlog.simulator import Reply, ToolCall, to_json
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.servers.process import free_port

WATCHERS = (1, 100, 250, 500)
MESSAGES = (10, 1_000, 5_000, 10_000)  # that were there before
RESULTS = (1_000, 1_000_000, 5_000_000, 10_000_000)  # characters
ROUNDS = 3
BURST = Reply("x" * 12 * 200, chunk=12)
SHORT = Reply("Yes.")
TITLES = {
    "watchers": "CPU-ms of a turn of 200 chunks, by those who watch it",
    "history": "CPU-ms of a short turn, by messages before it",
    "results": "CPU-ms of a turn with a tool, by characters of its result",
}


class Growth:
    """One server, asked for more and more."""

    def __init__(
        self, http: aiohttp.ClientSession, server: Server, claude: str, folder: Path
    ) -> None:
        self._http = http
        self._server = server
        self._claude = claude
        self._folder = folder

    async def watched(self, watchers: int) -> float:
        session = await new_session(self._http, self._server.url)
        lines = [await self._joined(session) for _ in range(watchers)]
        return await self._median(lines, BURST)

    async def after(self, messages: int) -> float:
        store = SqliteStore(self._folder)  # beside the server, as another process may
        await store.open()
        session = await filled(store, messages, anchored=False)
        await store.close()
        line = await self._joined(session)
        await line.watch()  # who joins is shown the newest turn first
        return await self._median([line], SHORT)

    async def with_result(self, size: int) -> float:
        call = Reply("", ToolCall("look", {"size": size}))
        took = []
        for _ in range(ROUNDS):  # in a session of its own: results are told again
            session = await new_session(self._http, self._server.url)
            took.append(await self._turn([await self._joined(session)], call, SHORT))
        return median(took)

    async def _joined(self, session: str) -> Watcher:
        return await joined(self._http, self._server.url, session)

    async def _median(self, lines: Sequence[Watcher], *replies: Reply) -> float:
        took = [await self._turn(lines, *replies) for _ in range(ROUNDS + 1)]
        for each in lines:
            await each.line.close()
        return median(took[1:])

    async def _turn(self, lines: Sequence[Watcher], *replies: Reply) -> float:
        script = {"entries": [to_json(reply) for reply in replies]}
        async with self._http.post(f"{self._claude}/sim/script", json=script) as answer:
            answer.raise_for_status()
        before = self._server.cpu
        watching = asyncio.gather(*(each.watch() for each in lines))
        await lines[0].ask()
        await watching
        return (self._server.cpu - before) * 1e3


async def measured() -> dict[str, tuple[Sequence[int], list[float]]]:
    """By what grows: how much there was of it, and what a turn took then."""
    async with AsyncExitStack() as stack:
        claude = await stack.enter_async_context(simulator())
        line = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=line))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        server = await stack.enter_async_context(
            started("turnlog", "serve", "--port", str(port), "--data", str(folder),
                    "bench.beside.big:app", port=port,
                    ANTHROPIC_API_KEY="bench", ANTHROPIC_BASE_URL=claude, **LIMITS)
        )  # fmt: skip
        growth = Growth(http, server, claude, folder)
        return {
            "watchers": (WATCHERS, [await growth.watched(n) for n in WATCHERS]),
            "history": (MESSAGES, [await growth.after(n) for n in MESSAGES]),
            "results": (RESULTS, [await growth.with_result(n) for n in RESULTS]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.beside.growth", description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    args = parser.parse_args()
    grown = asyncio.run(measured())
    rows = ["| CPU-ms | " + " | ".join(["least"] + [""] * 2 + ["most"]) + " |", "|---" * 5 + "|"]
    for name, (sizes, took) in grown.items():
        cells = [f"{ms:,.1f} at {size:,}" for size, ms in zip(sizes, took, strict=True)]
        rows.append(f"| {TITLES[name]} | " + " | ".join(cells) + " |")
    table = "\n".join(rows)
    sys.stdout.write(f"{table}\n")
    if args.write:
        for name, (sizes, took) in grown.items():
            page.draw(name, page.plot(TITLES[name], sizes, {"Socket.IO": took}))
        page.put("growth", "\n\n".join([table, page.pictures(grown)]))


if __name__ == "__main__":
    main()
