"""What sessions cost that people only watch, and turns that wait for people, over three nodes.

    python -m bench.idle [WATCHED [WAITING]] [--write]

Opens a stream for each watched session, at one node or another, and reads the memory of each node
before and after. Then some of the sessions are asked at the next node, and every one of their
watchers has to see the answer. The same with turns that wait for an approval: some are answered at
another node, and have to go on there.
"""

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from bench.scale import page, simulation
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.testing.servers.cluster import Cluster, Person, cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.valkey import Valkey

NODES, AT_ONCE, TRIED = 3, 20, 30
LONGEST = 120.0  # seconds for one of them to be answered
APP = """
from turnlog import Agent, create_app, tool

@tool(writes=True, approval="always")
async def pay(key: str) -> str:
    "Pay once."
    return "paid"

app = create_app(agents=[Agent("helper", prompt="You help.", tools=[pay])])
"""
LIMITS = {
    "TURNLOG_MESSAGES_A_MINUTE": "1000000",
    "TURNLOG_TURNS_AT_ONCE": "100000",
    "TURNLOG_WRITES_A_MINUTE": "1000000",
}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(body: dict[str, object]) -> Reply:
    last = str(body["messages"][-1])  # type: ignore[index]  # JSON
    if "tool_result" in last or "Hello" in last:
        return Reply("Here you are.")
    return Reply("I pay.", ToolCall("pay", {"key": "a"}))


async def each(places: Iterable[int], work: Callable[[int], Awaitable[None]]) -> None:
    """A few at once."""
    left = iter(places)

    async def worker() -> None:
        for place in left:
            await work(place)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


class Crowd:
    """Everybody who watches, and whom they ask."""

    def __init__(self, http: aiohttp.ClientSession, nodes: Cluster) -> None:
        self._http = http
        self.people = [Person(http, node.url) for node in nodes.nodes]
        self.sessions: dict[int, str] = {}
        self.streams: dict[int, aiohttp.ClientResponse] = {}
        self.turns: dict[int, str] = {}

    def at(self, place: int) -> Person:
        return self.people[place % NODES]

    async def megabytes(self) -> list[float]:
        async def one(person: Person) -> float:
            async with self._http.get(f"{person.url}/metrics") as response:
                pattern = r"^process_resident_memory_bytes (\S+)$"
                found = re.search(pattern, await response.text(), re.MULTILINE)
                assert found is not None
                return float(found[1]) / 1e6

        return [await one(person) for person in self.people]

    async def watch(self, place: int) -> None:
        session = self.sessions[place] = await self.at(place).session()
        url = f"{self.at(place).url}/api/sessions/{session}/stream"
        self.streams[place] = await self._http.get(url)
        await self.streams[place].content.readuntil(b"\n\n")  # session_start

    async def sees(self, place: int) -> None:
        """A question at the next node shows its answer here."""
        async with asyncio.timeout(LONGEST):
            await self.at(place + 1).send(self.sessions[place], "Hello")
            async for line in self.streams[place].content:
                if line.startswith(b"event: complete"):
                    return

    async def wait(self, place: int) -> None:
        session = self.sessions[place] = await self.at(place).session()
        await self.at(place).send(session, "Pay, please.")
        async with asyncio.timeout(LONGEST):
            async with self.at(place).watch(session) as events:
                async for event in events:
                    if event["type"] == "approval_requested":
                        return

    async def goes_on(self, approval: dict[str, str], place: int) -> None:
        """A decision at any node: the turn ends, wherever."""
        async with asyncio.timeout(LONGEST):
            person, path = self.at(place), f"/api/approvals/{approval['id']}"
            async with person.watch(approval["sessionId"]) as events:
                await person.ask("POST", path, {"approved": True})
                async for event in events:
                    if event["type"] == "complete":
                        return


def told(what: str, before: list[float], after: list[float], count: int, began: float) -> float:
    """Prints it. Returns the kilobytes of each."""
    grown = sum(after) - sum(before)
    say(
        f"{count} {what}: {' + '.join(f'{mb:.0f}' for mb in before)} MB before,"
        f" {' + '.join(f'{mb:.0f}' for mb in after)} MB after: {1000 * grown / count:.1f} kB each;"
        f" {time.monotonic() - began:.0f} s to begin all of them"
    )
    return 1000 * grown / count


async def main(watched: int, waiting: int, *, write: bool) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "office.py").write_text(APP)
        claude = await stack.enter_async_context(SimulatedClaude(answer=answer, pace=0).serve())
        postgres, valkey = Postgres(), Valkey()
        for server in (postgres, valkey):
            stack.callback(server.close)
            server.start()
        urls = {"database": postgres.url, "redis": valkey.url}
        nodes = cluster(folder, claude, "office:app", **urls, **LIMITS)
        connections = aiohttp.TCPConnector(limit=0)
        patience = aiohttp.ClientTimeout(total=None)
        running = await stack.enter_async_context(nodes)
        session = aiohttp.ClientSession(connector=connections, timeout=patience)
        crowd = Crowd(await stack.enter_async_context(session), running)

        await each(range(NODES), crowd.watch)
        await each(range(NODES), crowd.sees)
        before, began = await crowd.megabytes(), time.monotonic()
        await each(range(NODES, NODES + watched), crowd.watch)
        what = "idle sessions with a watcher each"
        size = told(what, before, await crowd.megabytes(), watched, began)
        if write:
            page.note_costs(socket_kb=round(size, 1))
            simulation.write()
        await each(range(NODES, NODES + TRIED), crowd.sees)
        say(f"{TRIED} of them were asked at another node, and their watchers saw the answer")

        before, began = await crowd.megabytes(), time.monotonic()
        first = NODES + watched
        await each(range(first, first + waiting), crowd.wait)
        told("turns that wait for a person", before, await crowd.megabytes(), waiting, began)
        path = f"/api/approvals?status=pending&limit={TRIED}"
        approvals = (await crowd.at(0).ask("GET", path))["approvals"][:TRIED]
        await each(range(len(approvals)), lambda n: crowd.goes_on(approvals[n], n))
        say(f"{len(approvals)} of them were approved at one node or another, and went on")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    write = "--write" in sys.argv[1:]
    asyncio.run(main(*(given + [10_000, 1_000][len(given) :]), write=write))
