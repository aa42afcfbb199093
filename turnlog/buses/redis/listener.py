"""One connection on which nudges and signals come: one for each server that has what is watched."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redis.exceptions import RedisClusterException, RedisError

from turnlog.buses.redis.servers import ANSWERS_WITHIN, answered, listening
from turnlog.buses.stream import Away, Lost, end

Heard = Callable[[bytes, bytes], None]  # on a channel, what
Moved = Callable[[bytes], None]  # this server has the channel no more
LOOKS_EVERY = 2.0  # seconds between two questions whether the server is still there


class Listener:
    """Subscribes to channels of one server. A lost connection is said, never made again."""

    def __init__(self, url: str, on_heard: Heard, on_moved: Moved, on_lost: Lost) -> None:
        self._client = listening(url)
        self._subscribed = self._client.pubsub()
        self._on_heard, self._on_moved, self._on_lost = on_heard, on_moved, on_lost
        self._confirmed: dict[bytes, asyncio.Future[None]] = {}
        self._leaving: Counter[bytes] = Counter()
        self._task: asyncio.Task[None] | None = None

    async def join(self, channel: bytes, *, sharded: bool) -> None:
        """From when this returns, the channel is heard."""
        if channel in self._confirmed:
            await asyncio.wait([self._confirmed[channel]])
            return
        self._confirmed[channel] = asyncio.get_running_loop().create_future()
        subscribe = self._subscribed.ssubscribe if sharded else self._subscribed.subscribe
        await answered(subscribe(channel))
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name="redis")
        try:
            async with asyncio.timeout(ANSWERS_WITHIN):
                await asyncio.shield(self._confirmed[channel])
        except TimeoutError:
            raise Away("Redis does not answer") from None

    async def leave(self, channel: bytes, *, sharded: bool) -> None:
        self._confirmed.pop(channel, None)
        self._leaving += Counter([channel])  # drops those that are done
        leave = self._subscribed.sunsubscribe if sharded else self._subscribed.unsubscribe
        await answered(leave(channel))

    async def close(self) -> None:
        if self._task is not None:
            await end([self._task])
        for confirmed in self._confirmed.values():
            confirmed.cancel()
        self._confirmed.clear()
        with suppress(RedisError, OSError, TimeoutError):
            await self._subscribed.aclose()
            await self._client.aclose()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        looked = loop.time()
        try:
            while True:
                message = await self._subscribed.get_message(timeout=LOOKS_EVERY)
                if message is not None:
                    self._take(message)
                if loop.time() - looked > LOOKS_EVERY:
                    looked = loop.time()
                    await answered(self._client.ping())
        except (Away, RedisError, RedisClusterException, OSError, TimeoutError):
            self._on_lost()

    def _take(self, message: dict[str, Any]) -> None:
        channel = message["channel"]
        match message["type"]:
            case "message" | "smessage":
                self._on_heard(channel, message["data"])
            case "subscribe" | "ssubscribe" if channel in self._confirmed:
                if not self._confirmed[channel].done():
                    self._confirmed[channel].set_result(None)
            case "unsubscribe" | "sunsubscribe" if self._leaving[channel]:
                self._leaving[channel] -= 1
            case "sunsubscribe" if self._confirmed.pop(channel, None):
                self._on_moved(channel)  # nobody asked for it: its slot has moved
