"""How long a turn is nobody's when its node dies or hangs, seen by those who only watch elsewhere.

    python -m bench.scale.healing [ROUNDS] [--write]

Three nodes on PostgreSQL and Valkey. Each round people ask long questions at one node, and watch
at another one. Then that node is killed, or stopped (SIGSTOP). The time runs until a watcher sees
how the turn ends, which another node says; and until the message that waited in line is answered.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from bench.scale import page
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.testing.servers.cluster import Cluster, Person, cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.valkey import Valkey

ROUNDS = 10
LONGEST = 120.0  # seconds that somebody waits
PEOPLE = 5  # in a round
LONG = " ".join(f"word-{n}" for n in range(3_000))
LIMITS = {"TURNLOG_MESSAGES_A_MINUTE": "1000000", "TURNLOG_TURNS_AT_ONCE": "1000"}


def answer(body: dict[str, object]) -> Reply:
    last = str(body["messages"][-1]["content"][-1])  # type: ignore[index]  # JSON
    return Reply(LONG if "write" in last else "Fine.")


async def sees(person: Person, session: str, *types: str) -> float:
    """When one of these is shown to somebody who watches, and reloads when told to."""
    async with asyncio.timeout(LONGEST):
        while True:
            async with person.watch(session) as events:
                async for event in events:
                    if event["type"] in types:
                        return time.monotonic()


async def suffer(
    nodes: Cluster, http: aiohttp.ClientSession, how: str, at: int
) -> list[tuple[float, float]]:
    """Seconds until each turn had ended, and until the next message was answered."""
    here, there = (Person(http, nodes.nodes[n % 3].url) for n in (at, at + 1))
    broken = asyncio.get_running_loop().create_future()
    ready = [asyncio.Event() for _ in range(PEOPLE)]

    async def person(begun: asyncio.Event) -> tuple[float, float]:
        session = await here.session()
        await here.send(session, "write")
        await sees(there, session, "message_chunk")
        await here.send(session, "hello", onBusy="enqueue")
        watching = asyncio.create_task(sees(there, session, "error", "complete"))
        begun.set()
        since = await broken
        ended = await watching - since
        went_on = await sees(there, session, "complete") - since
        return ended, went_on

    async with asyncio.TaskGroup() as tasks:
        people = [tasks.create_task(person(begun)) for begun in ready]
        await asyncio.gather(*(begun.wait() for begun in ready))
        await asyncio.sleep(1.5 * at / 10)  # at another moment between two signs of life each time
        if how == "kill -9":
            await nodes.nodes[at % 3].kill()
        else:
            nodes.pause(at % 3)
        broken.set_result(time.monotonic())
    if how == "kill -9":
        await (await nodes.start_node(at % 3)).ready()
    else:
        nodes.go_on(at % 3)
        await nodes.nodes[at % 3].ready()
    return [person.result() for person in people]


async def main(rounds: int, *, write: bool) -> None:
    load = os.getloadavg()[0]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sim = SimulatedClaude(answer=answer, pace=0.05)
        claude = await stack.enter_async_context(sim.serve())
        postgres, valkey = Postgres(fsync="on"), Valkey()
        for server in (postgres, valkey):
            stack.callback(server.close)
            server.start()
        running = cluster(folder, claude, database=postgres.url, redis=valkey.url, **LIMITS)
        nodes = await stack.enter_async_context(running)
        # A connection that is used again may be closed by the server at that very moment.
        once = aiohttp.TCPConnector(force_close=True)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=once))
        lines = [
            f"{os.cpu_count()} cores; the load of the machine before was {load:.1f}.",
            "",
            "| a node | turns | their end: median, worst | the next answer: median, worst |",
            "|---|---|---|---|",
        ]
        for how in ("kill -9", "hangs (SIGSTOP)"):
            times = [each for at in range(rounds) for each in await suffer(nodes, http, how, at)]
            shown = [
                f"{statistics.median(t):.1f} s, {max(t):.1f} s" for t in zip(*times, strict=True)
            ]
            lines.append(f"| {how} | {len(times)} | {shown[0]} | {shown[1]} |")
    sys.stdout.write("\n".join(lines) + "\n")
    if write:
        page.put("healing", "\n".join(lines))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asyncio.run(main(*(numbers or [ROUNDS]), write="--write" in sys.argv[1:]))
