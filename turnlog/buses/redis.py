"""Streams between nodes in Redis (from 7 on) or Valkey (from 8 on).

A session has one stream, which holds its newest turn. Nudges and signals go by publish and
subscribe: a node subscribes to the sessions that it has watchers for. The keys of a session share
a hash tag, so that in a Redis Cluster they lie in one place.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import redis.asyncio as redis
from redis.exceptions import RedisError

from turnlog.buses.stream import Away, Hear, Lost, Nudge, Parcel, end

T = TypeVar("T")
SIGNALS = b"turnlog:signals"
LIVES = 3_600  # seconds that a stream stays after the last event
MOST = 50_000  # batches in one stream, about; one who lacks the first of them reloads
ANSWERS_WITHIN = 3.0  # seconds
LOOKS_EVERY = 2.0  # seconds between two questions whether the server is still there


class RedisStream:
    """A Stream in the Redis that the URL names."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis: Any = None
        self._subscribed: Any = None
        self._listening: asyncio.Task[None] | None = None
        self._confirmed: dict[bytes, asyncio.Future[None]] = {}
        self._begun: dict[bytes, bytes] = {}  # streams to trim, and from where

    async def open(self, on_nudge: Nudge, on_told: Hear, on_lost: Lost) -> None:
        self._redis = redis.from_url(
            self._url,
            socket_timeout=ANSWERS_WITHIN,
            socket_connect_timeout=ANSWERS_WITHIN,
            max_connections=20,
        )
        await _answered(self._redis.ping())
        self._subscribed = self._redis.pubsub()
        await _answered(self._subscribed.subscribe(SIGNALS))
        listen = self._listen(on_nudge, on_told, on_lost)
        self._listening = asyncio.create_task(listen, name="redis")

    async def close(self) -> None:
        if self._listening is not None:
            await end([self._listening])
            self._listening = None
        for confirmed in self._confirmed.values():
            confirmed.cancel()
        self._confirmed.clear()
        with suppress(RedisError, OSError, TimeoutError):
            if self._subscribed is not None:
                await self._subscribed.aclose()
            if self._redis is not None:
                await self._redis.aclose()

    async def add(self, parcels: Sequence[Parcel]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for key, place in self._begun.items():
            pipeline.xtrim(key, minid=place, approximate=False)
        trims, self._begun = len(self._begun), {}
        keys = [_key(parcel.session_id) for parcel in parcels]
        for key, parcel in zip(keys, parcels, strict=True):
            pipeline.xadd(key, {b"b": parcel.body}, maxlen=MOST)
        for key in dict.fromkeys(keys):
            pipeline.expire(key, LIVES)
            pipeline.publish(key, b"")
        answers = await _answered(pipeline.execute())
        for key, parcel, place in zip(keys, parcels, answers[trims:], strict=False):
            if parcel.begins:
                self._begun[key] = place

    async def read(self, after: Mapping[str, str]) -> dict[str, list[tuple[str, bytes]]]:
        pipeline = self._redis.pipeline(transaction=False)
        for session_id, place in after.items():
            pipeline.xrange(_key(session_id), min=f"({place}" if place else "-")
        answers = await _answered(pipeline.execute())
        return {
            session_id: [(place.decode(), fields[b"b"]) for place, fields in found]
            for session_id, found in zip(after, answers, strict=True)
        }

    async def watch(self, session_id: str) -> None:
        key = _key(session_id)
        if key in self._confirmed:
            await asyncio.wait([self._confirmed[key]])
            return
        self._confirmed[key] = asyncio.get_running_loop().create_future()
        await _answered(self._subscribed.subscribe(key))
        try:
            async with asyncio.timeout(ANSWERS_WITHIN):
                await asyncio.shield(self._confirmed[key])
        except TimeoutError:
            raise Away("Redis does not answer") from None

    async def unwatch(self, session_id: str) -> None:
        self._confirmed.pop(_key(session_id), None)
        await _answered(self._subscribed.unsubscribe(_key(session_id)))

    async def signal(self, body: bytes) -> None:
        await _answered(self._redis.publish(SIGNALS, body))

    async def _listen(self, on_nudge: Nudge, on_told: Hear, on_lost: Lost) -> None:
        loop = asyncio.get_running_loop()
        looked = loop.time()
        try:
            while True:
                message = await self._subscribed.get_message(timeout=LOOKS_EVERY)
                if message is not None:
                    self._take(message, on_nudge, on_told)
                if loop.time() - looked > LOOKS_EVERY:
                    looked = loop.time()
                    await _answered(self._redis.ping())
        except (Away, RedisError, OSError, TimeoutError):
            on_lost()

    def _take(self, message: dict[str, Any], on_nudge: Nudge, on_told: Hear) -> None:
        kind, key = message["type"], message["channel"]
        if kind == "subscribe" and key in self._confirmed:
            if not self._confirmed[key].done():
                self._confirmed[key].set_result(None)
        elif kind == "message" and key == SIGNALS:
            on_told(message["data"])
        elif kind == "message":
            on_nudge(_session(key))


def _key(session_id: str) -> bytes:
    return b"turnlog:{%s}:live" % session_id.encode()


def _session(key: bytes) -> str:
    return key.removeprefix(b"turnlog:{").removesuffix(b"}:live").decode()


async def _answered(asked: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(ANSWERS_WITHIN):
            return await asked
    except (RedisError, OSError, TimeoutError, RuntimeError) as error:
        raise Away(f"Redis: {type(error).__name__}") from error
