"""How much one, two and three nodes on PostgreSQL and Valkey do, beside one node on SQLite.

    python -m bench.cluster [TURNS]

All of it shares this machine, so the ratios matter, not the numbers. Each turn is a question over
HTTP, an answer of twenty chunks from the simulated Claude, and a stream that shows it to its end.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from turnlog.simulator import Reply, SimulatedClaude
from turnlog.testing.cluster import Person, cluster
from turnlog.testing.server import serving
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.valkey import Valkey

AT_ONCE = 20
TEXT = " ".join(f"word-{n}" for n in range(20))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def measure(http: aiohttp.ClientSession, urls: list[str], turns: int) -> tuple[float, float]:
    """Turns a second, and the median time of one in milliseconds."""
    times: list[float] = []
    left = iter(range(turns))

    async def client(place: int) -> None:
        person = Person(http, urls[place % len(urls)])
        session = await person.session()
        for _ in left:
            began = time.perf_counter()
            path = f"{person.url}/api/sessions/{session}/messages"
            headers = {"accept": "text/event-stream"}
            async with http.post(path, json={"message": "Hello"}, headers=headers) as response:
                async for line in response.content:
                    if line.startswith((b"event: complete", b"event: error")):
                        break
            times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(client(n) for n in range(AT_ONCE)))
    return turns / (time.perf_counter() - began), statistics.median(times) * 1000


async def main(turns: int) -> None:
    sim = SimulatedClaude(answer=lambda body: Reply(TEXT))
    limits = {"TURNLOG_MESSAGES_A_MINUTE": "1000000", "TURNLOG_TURNS_AT_ONCE": "1000"}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        claude = await stack.enter_async_context(sim.serve())
        http = await stack.enter_async_context(aiohttp.ClientSession())
        (folder / "one").mkdir()
        async with serving(folder / "one", claude, env=limits) as server:
            await measure(http, [server.url], AT_ONCE)
            alone, ms = await measure(http, [server.url], turns)
        say(f"SQLite, one node:     {alone:6.1f} turns/s  1.00   median {ms:5.0f} ms")
        postgres, valkey = Postgres(fsync="on"), Valkey()
        for each in (postgres, valkey):
            stack.callback(each.close)
            each.start()
        for size in (1, 2, 3):
            place = folder / f"of-{size}"
            place.mkdir()
            async with cluster(
                place, claude, database=postgres.url, redis=valkey.url, size=size, **limits
            ) as nodes:
                urls = [node.url for node in nodes.nodes]
                await measure(http, urls, AT_ONCE)
                rate, ms = await measure(http, urls, turns)
            say(
                f"PostgreSQL, {size} node(s): {rate:6.1f} turns/s  {rate / alone:.2f}"
                f"   median {ms:5.0f} ms"
            )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
