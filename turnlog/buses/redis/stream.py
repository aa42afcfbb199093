"""Streams between nodes in Redis (from 7 on) or Valkey (from 8 on), or a Cluster of them.

A session has one stream, which holds its newest turn. Nudges and signals go by publish and
subscribe: a node subscribes to the sessions that it has watchers for. The keys of a session share
a hash tag, so that in a Cluster they lie in one place; there nudges go by its sharded channels,
which stay with that place, and signals reach every server of it.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from turnlog.buses.redis.listener import Listener
from turnlog.buses.redis.servers import OneServer, Servers, answered, connect
from turnlog.buses.stream import Away, Hear, Lost, Nudge, Parcel, end

SIGNALS = b"turnlog:signals"
LIVES = 3_600  # seconds that a stream stays, about, after the last event
SAID_FOR = LIVES / 10  # seconds after which it is said again how long it stays
MOST = 50_000  # batches in one stream, about; one who lacks the first of them reloads


class RedisStream:
    """A Stream in the Redis that the URL names."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._me = os.urandom(8)  # in nudges: those of this node are not for itself
        self._staying: dict[bytes, float] = {}  # streams, and when it was said how long they stay
        self._known: list[str] = []  # servers of a Cluster that were there
        self._servers: Servers = OneServer(url)
        self._listeners: dict[str, Listener] = {}  # by the URL of their server
        self._watched: dict[bytes, Listener] = {}
        self._moving: set[asyncio.Task[None]] = set()
        self._begun: dict[bytes, bytes] = {}  # streams to trim, and from where
        self._on_nudge: Nudge
        self._on_told: Hear
        self._on_lost: Lost

    async def open(self, on_nudge: Nudge, on_told: Hear, on_lost: Lost) -> None:
        self._on_nudge, self._on_told, self._on_lost = on_nudge, on_told, on_lost
        self._servers = await connect({self._url, *self._known})
        self._known = self._servers.urls
        self._staying.clear()  # it may come back empty
        await self._listener(SIGNALS).join(SIGNALS, sharded=False)

    async def close(self) -> None:
        await end(self._moving)
        for listener in self._listeners.values():
            await listener.close()
        self._listeners.clear()
        self._watched.clear()
        with suppress(Away):
            await answered(self._servers.commands.aclose())

    async def add(self, parcels: Sequence[Parcel]) -> None:
        pipeline = self._servers.commands.pipeline(transaction=False)
        for key, place in self._begun.items():
            pipeline.xtrim(key, minid=place, approximate=False)
        trims, self._begun = len(self._begun), {}
        keys = [_key(parcel.session_id) for parcel in parcels]
        for key, parcel in zip(keys, parcels, strict=True):
            pipeline.xadd(key, {b"b": parcel.body}, maxlen=MOST)
        # In a Cluster an XADD may be sent again to where its slot has gone: the nudge comes after.
        sharded = self._servers.sharded
        nudges = self._servers.commands.pipeline(transaction=False) if sharded else pipeline
        for key in dict.fromkeys(keys):
            if self._needs_expiry(key):
                pipeline.expire(key, LIVES)
            nudges.execute_command("SPUBLISH" if sharded else "PUBLISH", key, self._me)
        answers = await answered(pipeline.execute())
        if sharded:
            await answered(nudges.execute())
        for key, parcel, place in zip(keys, parcels, answers[trims:], strict=False):
            if parcel.begins:
                self._begun[key] = place

    def _needs_expiry(self, key: bytes) -> bool:
        """Whether its stream could stay for ever, or go too soon."""
        now = asyncio.get_running_loop().time()
        if now < self._staying.get(key, -SAID_FOR) + SAID_FOR:
            return False
        if len(self._staying) > MOST:
            self._staying.clear()
        self._staying[key] = now
        return True

    async def read(self, after: Mapping[str, str]) -> dict[str, list[tuple[str, bytes]]]:
        pipeline = self._servers.commands.pipeline(transaction=False)
        for session_id, place in after.items():
            pipeline.xrange(_key(session_id), min=f"({place}" if place else "-")
        answers = await answered(pipeline.execute())
        return {
            session_id: [(place.decode(), fields.get(b"b", b"")) for place, fields in found]
            for session_id, found in zip(after, answers, strict=True)
        }

    async def watch(self, session_id: str) -> None:
        key = _key(session_id)
        self._watched[key] = listener = self._listener(key)
        await listener.join(key, sharded=self._servers.sharded)

    async def unwatch(self, session_id: str) -> None:
        key = _key(session_id)
        if listener := self._watched.pop(key, None):
            await listener.leave(key, sharded=self._servers.sharded)

    async def signal(self, body: bytes) -> None:
        await answered(self._servers.commands.publish(SIGNALS, body))

    def _listener(self, key: bytes) -> Listener:
        url = self._servers.url_of(key)
        if url not in self._listeners:
            self._listeners[url] = Listener(url, self._take, self._move, self._on_lost)
        return self._listeners[url]

    def _take(self, channel: bytes, body: bytes) -> None:
        if channel == SIGNALS:
            self._on_told(body)
        elif body != self._me:
            self._on_nudge(_session(channel))

    def _move(self, channel: bytes) -> None:
        task = asyncio.create_task(self._follow(channel))
        self._moving.add(task)
        task.add_done_callback(self._moving.discard)

    async def _follow(self, channel: bytes) -> None:
        """To the server that has the channel now; what came meanwhile is read there."""
        try:
            await answered(self._servers.look_again())
            await self.watch(_session(channel))
        except Away:
            self._on_lost()
        else:
            self._on_nudge(_session(channel))


def _key(session_id: str) -> bytes:
    return b"turnlog:{%s}:live" % session_id.encode()


def _session(key: bytes) -> str:
    return key.removeprefix(b"turnlog:{").removesuffix(b"}:live").decode()
