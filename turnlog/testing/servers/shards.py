"""A Cluster of Valkey servers for tests: masters that share the slots, and replicas of them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import redis
from redis.exceptions import RedisError

from turnlog.testing.servers.process import free_port
from turnlog.testing.servers.valkey import Valkey

SLOTS = 16_384
LONGEST = 120.0  # seconds until all of them agree


class Shards:
    """Three masters; the first `replicas` of them have a replica each."""

    def __init__(self, masters: int = 3, replicas: int = 0, *, dead_after: float = LONGEST) -> None:
        """`dead_after`: seconds of silence until a replica takes over."""
        self._buses = [free_port() for _ in range(masters + replicas)]
        self.servers = [
            Valkey(
                *("--cluster-enabled", "yes", "--cluster-port", str(bus)),
                *("--cluster-node-timeout", f"{1000 * dead_after:.0f}"),
                *("--repl-diskless-sync-delay", "0"),
            )
            for bus in self._buses
        ]
        self.masters, self.replicas = self.servers[:masters], self.servers[masters:]

    @property
    def url(self) -> str:
        return self.servers[0].url

    def start(self) -> None:
        for server in self.servers:
            server.start()
        bounds = [SLOTS * n // len(self.masters) for n in range(len(self.masters) + 1)]
        for n, (master, (first, end)) in enumerate(
            zip(self.masters, pairwise(bounds), strict=True), start=1
        ):
            self.ask(master, "CLUSTER", "SET-CONFIG-EPOCH", n)
            self.ask(master, "CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for server, bus in zip(self.servers[1:], self._buses[1:], strict=True):
            self.ask(self.servers[0], "CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        self.wait(lambda: all(self._knows_all(server) for server in self.servers))
        for master, replica in zip(self.masters, self.replicas, strict=False):
            self.ask(replica, "CLUSTER", "REPLICATE", self.ask(master, "CLUSTER", "MYID"))
        self.wait(self.is_whole)

    def ask(self, server: Valkey, *command: Any) -> Any:
        with redis.Redis(port=server.port, decode_responses=True) as client:
            return client.execute_command(*command)

    def is_whole(self) -> bool:
        """Every server that runs says that the Cluster is, and every replica follows."""
        return all(self._is_well(server) for server in self._running())

    def wait(self, condition: Any) -> None:
        end = time.monotonic() + LONGEST
        while True:
            with suppress(RedisError):
                if condition():
                    return
            if time.monotonic() > end:
                raise TimeoutError("The Cluster of the test does not come together.")
            time.sleep(0.05)

    def owner_of(self, key: bytes) -> Valkey:
        slot = self.slot_of(key)
        port = next(master[1] for first, last, master, *_ in self._slots() if first <= slot <= last)
        return next(each for each in self.servers if each.port == port)

    def owners(self) -> list[Valkey]:
        """Whoever has slots now."""
        ports = {master[1] for _, _, master, *_ in self._slots()}
        return [each for each in self.servers if each.port in ports]

    def slot_of(self, key: bytes) -> int:
        return int(self.ask(self._running()[0], "CLUSTER", "KEYSLOT", key))

    def _slots(self) -> list[Any]:
        return list(self.ask(self._running()[0], "CLUSTER", "SLOTS"))

    def _running(self) -> list[Valkey]:
        return [each for each in self.servers if each.server.runs]

    @contextmanager
    def moving(self, key: bytes, target: Valkey) -> Iterator[None]:
        """The slot of this key with all that is in it. Within, the old owner is still asked."""
        slot, source = self.slot_of(key), self.owner_of(key)
        ids = {each: self.ask(each, "CLUSTER", "MYID") for each in (source, target)}
        self.ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        self.ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        while keys := self.ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            for each in keys:
                self.ask(source, "MIGRATE", "127.0.0.1", target.port, each, 0, 5_000)
        yield
        others = [each for each in self.masters if each not in (source, target)]
        for master in (target, *others, source):
            self.ask(master, "CLUSTER", "SETSLOT", slot, "NODE", ids[target])

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def _knows_all(self, server: Valkey) -> bool:
        lines = self.ask(server, "CLUSTER", "NODES").splitlines()
        waits = any("handshake" in line or "disconnected" in line for line in lines)
        return len(lines) == len(self.servers) and not waits

    def _is_well(self, server: Valkey) -> bool:
        replication = self.ask(server, "INFO", "replication")
        whole = "cluster_state:ok" in self.ask(server, "CLUSTER", "INFO")
        return whole and replication.get("master_link_status", "up") == "up"
