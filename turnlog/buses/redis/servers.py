"""The servers that a URL stands for: one, or the masters of a Cluster.

Any server of a Cluster names all of them. Those that were there are tried later, too: the one
in the URL may be the one that is gone.
"""

import asyncio
import random
from collections.abc import Awaitable, Collection
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import redis.asyncio as redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError, ResponseError

from turnlog.buses.stream import Away, Unfit

T = TypeVar("T")
ANSWERS_WITHIN = 3.0  # seconds
OLDEST = 7  # Valkey 8 and 9 count higher, or say that they are 7
LIMITS: dict[str, Any] = {
    "socket_timeout": ANSWERS_WITHIN,
    "socket_connect_timeout": ANSWERS_WITHIN,
    "max_connections": 20,
}


class OneServer:
    """All keys are in one place."""

    sharded = False

    def __init__(self, url: str) -> None:
        self._url = url
        self.commands: Any = redis.from_url(url, **LIMITS)

    @property
    def urls(self) -> list[str]:
        return [self._url]

    async def open(self) -> None:
        await self.commands.ping()

    async def look_again(self) -> None:
        """There is nothing that could move."""

    def url_of(self, key: bytes) -> str:
        return self._url


class Cluster:
    """A key is at the master that owns its slot; what has moved is followed."""

    sharded = True

    def __init__(self, url: str) -> None:
        self._url = url
        parts = urlsplit(url)
        self.commands: Any = RedisCluster.from_url(
            parts._replace(path="").geturl(),  # a Cluster has one database
            startup_nodes=[ClusterNode(parts.hostname or "", parts.port or 6379)],
            **LIMITS,
        )

    @property
    def urls(self) -> list[str]:
        return [_at(self._url, node) for node in self.commands.get_nodes()]

    async def open(self) -> None:
        """Every master answers."""
        await self.commands.initialize()
        await self.commands.ping(target_nodes=RedisCluster.PRIMARIES)

    async def look_again(self) -> None:
        """Who owns which slot now."""
        await self.commands.nodes_manager.initialize()

    def url_of(self, key: bytes) -> str:
        try:
            return _at(self._url, self.commands.get_node_from_key(key))
        except RedisClusterException as error:
            raise Away(f"Redis: {type(error).__name__}") from error


Servers = OneServer | Cluster


async def connect(urls: Collection[str]) -> Servers:
    """By one of these that answers. Raises Away, and Unfit where it is too old."""
    problem = Away("Redis: no address")
    for url in random.sample(list(urls), len(urls)):  # one may know less than others
        try:
            servers = Cluster(url) if await _is_cluster(url) else OneServer(url)
        except Unfit:
            raise
        except Away as error:
            problem = error
            continue
        try:
            await answered(servers.open())
        except Away:
            with suppress(Away):
                await answered(servers.commands.aclose())
            raise
        return servers
    raise problem


def listening(url: str) -> Any:
    """A client that says when its connection is gone, instead of making a new one."""
    return redis.from_url(url, retry=Retry(NoBackoff(), 0), **LIMITS)


async def answered(asked: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            return await asked
    except (RedisError, RedisClusterException, OSError, TimeoutError, RuntimeError) as error:
        raise Away(f"Redis: {type(error).__name__}") from error


async def _is_cluster(url: str) -> bool:
    async with redis.from_url(url, **LIMITS) as client:
        try:
            hello: Any = await answered(client.execute_command("HELLO"))  # type: ignore[no-untyped-call]  # redis-py's
        except Away as error:
            if isinstance(error.__cause__, ResponseError) and "unknown" in str(error.__cause__):
                raise Unfit(_too_old("5 or older")) from None
            raise
    fields = hello if isinstance(hello, dict) else dict(zip(hello[::2], hello[1::2], strict=True))
    version = bytes(fields[b"version"]).decode()
    if int(version.split(".")[0]) < OLDEST:
        raise Unfit(_too_old(version))
    return bytes(fields[b"mode"]) == b"cluster"


def _too_old(version: str) -> str:
    return f"The server of TURNLOG_REDIS_URL is Redis {version}: it needs Redis 7 or Valkey 8."


def _at(url: str, node: ClusterNode) -> str:
    parts = urlsplit(url)
    who, at, _ = parts.netloc.rpartition("@")
    host = f"[{node.host}]" if ":" in node.host else node.host
    return parts._replace(netloc=f"{who}{at}{host}:{node.port}", path="").geturl()
