"""Faults at random under three servers, and a checker of what clients saw.

Clients ask, retry, watch and reload, and write down what they were told. Meanwhile nodes,
Redis and PostgreSQL are killed, hang, are cut off, or are replaced. At the end the log is compared
with what the clients wrote down: nothing that was acknowledged may be missing, twice, or different,
and what they read must be able to have happened: see history.py.
"""

import asyncio
import os
import random
import signal
import uuid
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import asyncpg
from history import anomalies

from clients import Client
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.stores.urls import open_store
from turnlog.testing.servers.cluster import Cluster, cluster
from turnlog.testing.servers.postgres import Postgres
from turnlog.testing.servers.proxy import Proxy
from turnlog.testing.servers.shards import Shards
from turnlog.testing.servers.valkey import Valkey

NODES = 3
TEXT = " ".join(f"word-{n}" for n in range(40))
CALMS_WITHIN = 120.0  # seconds until every turn is over when the faults are
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
# A clock that jumps when the process is told to: by SIGUSR1, and so many seconds as the file says.
CLOCK = """
import datetime, os, signal, time

real, real_ns, shift = time.time, time.time_ns, [0]

def jump(*_):
    with open(os.environ["CLOCK"]) as file:
        shift[0] = int(file.read())

class Jumping(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

time.time = lambda: real() + shift[0]
time.time_ns = lambda: real_ns() + shift[0] * 10**9
datetime.datetime = Jumping
if "CLOCK" in os.environ:
    jump()
    signal.signal(signal.SIGUSR1, jump)
"""


def answer(body):
    last = body["messages"][-1]["content"][-1]
    if last["type"] == "tool_result" or last["text"].startswith("write"):
        return Reply(TEXT)
    return Reply("I pay.", ToolCall("pay", {"key": uuid.uuid4().hex}))


@dataclass
class Place:
    """The cluster, what it stands on, and the wires between them."""

    cluster: Cluster
    postgres: Postgres
    redis: Valkey | Shards
    wires: dict[str, list[Proxy]]
    paid: Path
    clocks: list[Path]
    replica: Postgres | None = None

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

    async def jump_clock(self, dice: random.Random) -> None:
        """Of one node, by up to a day, and back."""
        place = dice.randrange(NODES)
        self._jump(place, dice.choice([-1, 1]) * dice.randrange(5, 86_400))
        await asyncio.sleep(dice.uniform(0.5, 5))
        self._jump(place, 0)

    def _jump(self, place: int, seconds: int) -> None:
        self.clocks[place].write_text(str(seconds))
        self.cluster.nodes[place].process.send_signal(signal.SIGUSR1)

    async def replace_postgres(self, dice: random.Random) -> None:
        """Its replica takes over, which has all that was answered; then it gets another one."""
        assert self.replica is not None
        self.postgres.server.kill()
        await asyncio.sleep(dice.uniform(0, 2))
        await asyncio.to_thread(self.replica.promote)
        self.postgres.close()
        self.postgres = self.replica
        for wire_ in self.wires["postgres"]:
            wire_.targets[0] = ("127.0.0.1", self.postgres.port)
            wire_.heal()
        await self.follow()

    async def follow(self) -> None:
        """From now on a commit is answered when a replica has it, too."""
        made = await asyncio.to_thread(lambda: Postgres(replica_of=self.postgres, **REPLICA))
        self.replica = made
        await asyncio.to_thread(made.start)
        await self._set(synchronous_standby_names="'*'")

    async def fill_disk(self, dice: random.Random) -> None:
        """Of PostgreSQL, which has a small one. It may end itself then."""
        ballast = self.postgres.folder.parent / "ballast"
        with ballast.open("wb") as file:
            room = os.statvfs(ballast)
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
        await asyncio.sleep(dice.uniform(0.5, 5))
        ballast.unlink()
        process = self.postgres.server.process
        if process is not None and process.poll() is not None:
            await asyncio.to_thread(self.postgres.start)

    async def kill_master(self, dice: random.Random) -> None:
        """Of the Redis Cluster. Its replica takes over, and it comes back as a replica of that."""
        assert isinstance(self.redis, Shards)
        victim = dice.choice(await asyncio.to_thread(self.redis.owners))
        victim.server.kill()
        await asyncio.to_thread(self.redis.wait, lambda: victim not in self.redis.owners())
        await asyncio.to_thread(victim.start)
        await asyncio.to_thread(self.redis.wait, self.redis.is_whole)

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
    Place.slow_disk, Place.cut_redis, Place.cut_postgres, Place.jump_clock,
)  # fmt: skip
# What `verify` says of rows whose times cannot be: a node's clock has jumped between them.
OF_CLOCKS = ("created_at is before its call", "created_at is after its first event")
REPLICA = {"fsync": "on", "wal_retrieve_retry_interval": "100ms"}


@asynccontextmanager
async def place(
    folder: Path, *, replica: bool = False, disk: Path | None = None, shards: bool = False
):
    """`disk`: where PostgreSQL's files are. `shards`: a Redis Cluster, without wires to cut."""
    (folder / "office.py").write_text(APP)
    (folder / "sitecustomize.py").write_text(CLOCK)
    clocks = [folder / f"clock-{n}" for n in range(NODES)]
    for clock in clocks:
        clock.write_text("0")
    paid = folder / "paid"
    paid.touch()
    postgres = Postgres(fsync="on", within=disk)
    redis = Shards(3, replicas=3, dead_after=2) if shards else Valkey()
    async with AsyncExitStack() as stack:
        for server in (postgres, redis):
            stack.callback(server.close)
            server.start()
        ports = {"postgres": postgres.port} | ({} if shards else {"redis": redis.port})
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
                "TURNLOG_REDIS_URL": redis.url
                if shards
                else f"redis://127.0.0.1:{wires['redis'][n].port}/0",
                "PYTHONPATH": str(folder),
                "CLOCK": str(clocks[n]),
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
        running = await stack.enter_async_context(nodes)
        where = Place(running, postgres, redis, wires, paid, clocks)
        stack.callback(lambda: [each.close() for each in (where.postgres, where.replica) if each])
        if replica:
            await where.follow()
        yield where


async def perform(
    where: Place, count: int, seed: int, faults=FAULTS, *, clients: int = 4, patient: int = 0
):
    """So many faults, one after the other, under clients at work; then calm.

    So many of the clients are patient: they stay with a stream until it says that it is over.
    """
    dice, enough = random.Random(seed), asyncio.Event()
    done: Counter[str] = Counter()
    async with aiohttp.ClientSession() as http:
        people = [
            Client(
                http,
                where.cluster,
                random.Random(f"{seed} {n}"),
                patience=None if n < patient else 10.0,
            )
            for n in range(clients)
        ]
        async with asyncio.TaskGroup() as tasks:
            for person in people:
                tasks.create_task(person.live(enough))
            for n in range(count):
                await asyncio.sleep(dice.uniform(0.3, 1.5))
                fault = faults[n % len(faults)] if count <= len(faults) else dice.choice(faults)
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
            problems = [each for each in prove(evidence).problems if not each.endswith(OF_CLOCKS)]
            assert problems == [], problems
            log = [stamped(row) for row in evidence.log]
            numbers = {e.envelope.event_id: (e.seq, e.event.type) for e in log}
            lost = {k: v for k, v in person.seen.items() if numbers.get(k) != v}
            assert lost == {}, "shown as persisted, and not there"
            asked = Counter(e.event.content for e in log if e.event.type == "user_message_sent")
            assert all(asked[message] == 1 for message in person.acknowledged), "asked once each"
            shown = [
                (e.envelope.event_id, getattr(e.event, "content", "") if _is_question(e) else "")
                for e in log
                if not e.envelope.internal
            ]
            wrong = list(anomalies(person.history, shown))
            assert wrong == [], wrong
            found["reads"] += len(person.history.reads)
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


def _is_question(entry) -> bool:
    return entry.event.type == "user_message_sent"
