"""Faults at random under three servers, and a checker of what clients saw.

Clients ask, retry, watch and reload, and write down what they were told. Meanwhile nodes,
Redis and PostgreSQL are killed, hang, or are cut off. At the end the log is compared with what
the clients wrote down: nothing that was acknowledged may be missing, twice, or different.
"""

import asyncio
import random
import uuid
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import asyncpg

from turnlog.events.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.urls import open_store
from turnlog.testing.cluster import Cluster, cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.proxy import Proxy
from turnlog.testing.servers.valkey import Valkey
from turnlog.transports import wire

NODES = 3
TEXT = " ".join(f"word-{n}" for n in range(40))
GIVES_UP = 120.0  # seconds that a client tries to be heard
CALMS_WITHIN = 120.0  # seconds until every turn is over when the faults are
RETRIES = (409, 429, 503)  # what the contract lets a client repeat; a 500 is a bug
APP = """
import os
from turnlog import Agent, create_app, tool

@tool(writes=True, approval="never")
async def pay(key: str) -> str:
    "Pay once."
    line = os.open(os.environ["PAID"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(line, f"{key}\\n".encode())
    os.close(line)
    return "paid"

app = create_app(agents=[Agent("helper", prompt="You help.", tools=[pay])])
"""


def answer(body):
    last = body["messages"][-1]["content"][-1]
    if last["type"] == "tool_result" or last["text"].startswith("write"):
        return Reply(TEXT)
    return Reply("I pay.", ToolCall("pay", {"key": uuid.uuid4().hex}))


@dataclass
class Client:
    """One user in one session, who is never discouraged."""

    http: aiohttp.ClientSession
    cluster: Cluster
    dice: random.Random
    session: str = ""
    acknowledged: dict[str, str] = field(default_factory=dict)  # message -> turn
    seen: dict[str, tuple] = field(default_factory=dict)  # event id -> number and type
    resyncs: int = 0
    refused: Counter = field(default_factory=Counter)

    async def live(self, enough: asyncio.Event) -> None:
        self.session = (await self._insist("POST", "/api/sessions", {}))["id"]
        number = 0
        while not enough.is_set():
            number += 1
            word = self.dice.choice(["write", "pay"])
            await self._ask(f"{word} {number} {uuid.uuid4().hex}")

    async def _ask(self, message: str) -> None:
        body = {"message": message, "requestId": uuid.uuid4().hex}
        path = f"/api/sessions/{self.session}/messages"
        self.acknowledged[message] = (await self._insist("POST", path, body))["turnId"]
        await self._watch(self.acknowledged[message])

    async def _watch(self, turn_id: str) -> None:
        """Until the turn is over, whatever breaks meanwhile."""
        async with asyncio.timeout(GIVES_UP):
            while not await self._is_over(turn_id):
                try:
                    url = f"{self._node()}/api/sessions/{self.session}/stream"
                    limit = aiohttp.ClientTimeout(total=10, connect=2)
                    async with self.http.get(url, timeout=limit) as response:
                        async for line in response.content:
                            if line.startswith(b"data: ") and self._note(line, turn_id):
                                break
                except (aiohttp.ClientError, OSError, TimeoutError):
                    await asyncio.sleep(0.1)

    def _note(self, line: bytes, turn_id: str) -> bool:
        """Write down what was shown. Says whether there is no more to see."""
        event = wire.decode(line.removeprefix(b"data: "))
        if event["type"] == "resync_required":
            self.resyncs += 1
            return True
        if event["persistenceState"] == "persisted":
            self.seen[event["eventId"]] = (event["sequenceNumber"], event["type"])
        return event["turnId"] == turn_id and event["type"] in ("complete", "error")

    async def _is_over(self, turn_id: str) -> bool:
        session = await self._insist("GET", f"/api/sessions/{self.session}")
        return session["state"] == "idle" or session.get("turnId") != turn_id

    async def _insist(self, method: str, path: str, body=None):
        """At one node or the other, until it is answered."""
        async with asyncio.timeout(GIVES_UP):
            while True:
                try:
                    limit = aiohttp.ClientTimeout(total=20, connect=2)
                    url = self._node() + path
                    async with self.http.request(method, url, json=body, timeout=limit) as response:
                        if response.status < 300:
                            return await response.json()
                        self.refused[response.status] += 1
                        assert response.status in RETRIES, await response.text()
                except (aiohttp.ClientError, OSError, TimeoutError):
                    pass
                await asyncio.sleep(0.1)

    def _node(self) -> str:
        return self.dice.choice(self.cluster.nodes).url


@dataclass
class Place:
    """The cluster, what it stands on, and the wires between them."""

    cluster: Cluster
    postgres: Postgres
    redis: Valkey
    wires: dict[str, list[Proxy]]
    paid: Path

    async def kill_node(self, dice: random.Random) -> None:
        place = dice.randrange(NODES)
        await self.cluster.nodes[place].kill()
        await asyncio.sleep(dice.uniform(0, 2))
        await (await self.cluster.start_node(place)).ready()

    async def hang_node(self, dice: random.Random) -> None:
        """Long enough to be thought dead; then it comes back."""
        place = dice.randrange(NODES)
        self.cluster.pause(place)
        await asyncio.sleep(dice.uniform(0.5, 9))
        self.cluster.go_on(place)

    async def kill_redis(self, dice: random.Random) -> None:
        """It comes back empty."""
        self.redis.server.kill()
        await asyncio.sleep(dice.uniform(0, 3))
        await asyncio.to_thread(self.redis.start)

    async def kill_postgres(self, dice: random.Random) -> None:
        self.postgres.server.kill()
        await asyncio.sleep(dice.uniform(0, 2))
        await asyncio.to_thread(self.postgres.start)

    async def hang_postgres(self, dice: random.Random) -> None:
        """Its first process alone: who is connected goes on, nobody new gets in."""
        self.postgres.server.pause()
        await asyncio.sleep(dice.uniform(0.2, 2))
        self.postgres.server.go_on()

    async def slow_disk(self, dice: random.Random) -> None:
        """Each commit of PostgreSQL takes a tenth of a second longer."""
        await self._set(commit_delay="100000", commit_siblings="0")
        await asyncio.sleep(dice.uniform(1, 5))
        await self._set(commit_delay="0", commit_siblings="5")

    async def _set(self, **settings: str) -> None:
        db = await asyncpg.connect(self.postgres.url)
        try:
            for name, value in settings.items():
                await db.execute(f"ALTER SYSTEM SET {name} = {value}")
            await db.execute("SELECT pg_reload_conf()")
        finally:
            await db.close()

    async def cut_redis(self, dice: random.Random) -> None:
        await self._cut(dice, "redis")

    async def cut_postgres(self, dice: random.Random) -> None:
        await self._cut(dice, "postgres")

    async def _cut(self, dice: random.Random, name: str) -> None:
        """Between one node and the server."""
        wire_ = dice.choice(self.wires[name])
        wire_.cut()
        await asyncio.sleep(dice.uniform(0.5, 8))
        wire_.heal()


FAULTS = (
    Place.kill_node, Place.hang_node, Place.kill_redis, Place.kill_postgres, Place.hang_postgres,
    Place.slow_disk, Place.cut_redis, Place.cut_postgres,
)  # fmt: skip


@asynccontextmanager
async def place(folder: Path):
    (folder / "office.py").write_text(APP)
    paid = folder / "paid"
    paid.touch()
    postgres, redis = Postgres(fsync="on"), Valkey()
    async with AsyncExitStack() as stack:
        for server in (postgres, redis):
            stack.callback(server.close)
            server.start()
        ports = {"postgres": postgres.port, "redis": redis.port}
        wires = {
            name: [
                await stack.enter_async_context(Proxy([("127.0.0.1", port)]).serve())
                for _ in range(NODES)
            ]
            for name, port in ports.items()
        }
        env_of = {
            n: {
                "TURNLOG_DATABASE_URL": postgres.url.replace(
                    f":{postgres.port}/", f":{wires['postgres'][n].port}/"
                ),
                "TURNLOG_REDIS_URL": f"redis://127.0.0.1:{wires['redis'][n].port}/0",
            }
            for n in range(NODES)
        }
        sim = SimulatedClaude(answer=answer, pace=0.02)
        claude = await stack.enter_async_context(sim.serve())
        nodes = cluster(
            folder,
            claude,
            "office:app",
            database=postgres.url,
            redis=redis.url,
            size=NODES,
            env_of=env_of,
            PAID=str(paid),
            TURNLOG_MESSAGES_A_MINUTE="100000",  # how many there are depends on the machine
        )
        yield Place(await stack.enter_async_context(nodes), postgres, redis, wires, paid)


async def perform(where: Place, count: int, seed: int, clients: int = 4):
    """So many faults, one after the other, under clients at work; then calm."""
    dice, enough = random.Random(seed), asyncio.Event()
    done: Counter[str] = Counter()
    async with aiohttp.ClientSession() as http:
        people = [Client(http, where.cluster, random.Random(f"{seed} {n}")) for n in range(clients)]
        async with asyncio.TaskGroup() as tasks:
            for person in people:
                tasks.create_task(person.live(enough))
            for n in range(count):
                await asyncio.sleep(dice.uniform(0.3, 1.5))
                fault = FAULTS[n % len(FAULTS)] if count <= len(FAULTS) else dice.choice(FAULTS)
                await fault(where, dice)
                done[fault.__name__] += 1
            enough.set()
    return people, done


async def check(where: Place, people) -> Counter:
    """Compare what clients were told with what is there. Raises AssertionError."""
    found: Counter[str] = Counter()
    async with open_store(where.postgres.url, read_only=True) as store:
        async with asyncio.timeout(CALMS_WITHIN):
            for person in people:
                while (await store.evidence(person.session)).running:
                    await asyncio.sleep(0.2)
        for person in people:
            evidence = await store.evidence(person.session)
            assert prove(evidence).problems == [], prove(evidence).problems
            log = [stamped(row) for row in evidence.log]
            numbers = {e.envelope.event_id: (e.seq, e.event.type) for e in log}
            lost = {k: v for k, v in person.seen.items() if numbers.get(k) != v}
            assert lost == {}, "shown as persisted, and not there"
            asked = Counter(e.event.content for e in log if e.event.type == "user_message_sent")
            assert all(asked[message] == 1 for message in person.acknowledged), "asked once each"
            found["events"] += len(log)
            found["turns"] += len(evidence.turns)
            found["acknowledged"] += len(person.acknowledged)
            found["seen"] += len(person.seen)
            found["interrupted"] += sum(e.event.type == "error" for e in log)
            found["resyncs"] += person.resyncs
    paid = Counter(where.paid.read_text().split())
    assert max(paid.values(), default=0) <= 1, "a write tool ran twice"
    found["writes"] = len(paid)
    return found
