"""A client that asks, retries, watches and reloads, and writes down what it was told."""

import asyncio
import random
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

import aiohttp
from history import Asked, History, Read

from turnlog.testing.servers.cluster import Cluster
from turnlog.transports import wire

GIVES_UP = 120.0  # seconds that a client tries to be heard
RETRIES = (409, 429, 503)  # what the contract lets a client repeat; a 500 is a bug


@dataclass
class Client:
    """One user in one session, who is never discouraged."""

    http: aiohttp.ClientSession
    cluster: Cluster
    dice: random.Random
    patience: float | None = 10.0  # seconds of one stream; None: until it ends or says to reload
    session: str = ""
    acknowledged: dict[str, str] = field(default_factory=dict)  # message -> turn
    seen: dict[str, tuple] = field(default_factory=dict)  # event id -> number and type
    resyncs: int = 0
    refused: Counter = field(default_factory=Counter)
    history: History = field(default_factory=History)

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
        began = time.monotonic()
        self.acknowledged[message] = (await self._insist("POST", path, body))["turnId"]
        self.history.questions.append(Asked(began, time.monotonic(), message))
        await self._read()
        await self._watch(self.acknowledged[message])
        await self._read()

    async def _read(self) -> None:
        """The whole log as it is shown, page by page; the first page was there when it began."""
        began, after, ids = time.monotonic(), -1, []
        while after is not None:
            path = f"/api/sessions/{self.session}/events?after={after}&limit=1000"
            page = await self._insist("GET", path)
            ids += [event["eventId"] for event in page["events"]]
            after = page.get("after")
        self.history.reads.append(Read(began, time.monotonic(), tuple(ids)))

    async def _watch(self, turn_id: str) -> None:
        """Until the turn is over, whatever breaks meanwhile."""
        async with asyncio.timeout(GIVES_UP):
            while not await self._is_over(turn_id):
                try:
                    url = f"{self._node()}/api/sessions/{self.session}/stream"
                    limit = aiohttp.ClientTimeout(total=self.patience, connect=2)
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
