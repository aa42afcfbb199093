"""Several real servers on one PostgreSQL, behind a proxy: for tests, and to look at."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from turnlog.testing.server import ServerProcess, start
from turnlog.testing.servers.proxy import Proxy


@dataclass
class Cluster:
    """Its nodes by their place; `proxy` answers as any of them."""

    folder: Path
    claude: str
    app: str | None
    env: Mapping[str, str]
    env_of: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # of one node alone
    nodes: list[ServerProcess] = field(default_factory=list)
    proxy: Proxy | None = None

    @property
    def url(self) -> str:
        assert self.proxy is not None
        return f"http://127.0.0.1:{self.proxy.port}"

    async def start_node(self, place: int) -> ServerProcess:
        """A node in this place; one that was there has ended."""
        folder = self.folder / f"node-{place}"
        folder.mkdir(exist_ok=True)
        for module in self.folder.glob("*.py"):
            (folder / module.name).write_text(module.read_text())
        node = await start(
            folder, self.claude, self.app, {**self.env, **self.env_of.get(place, {})}
        )
        self.nodes[place : place + 1] = [node]
        if self.proxy is not None:
            self.proxy.targets[place] = _address(node)
        return node

    def pause(self, place: int) -> None:
        """It hangs: SIGSTOP."""
        self.nodes[place].process.send_signal(signal.SIGSTOP)

    def go_on(self, place: int) -> None:
        self.nodes[place].process.send_signal(signal.SIGCONT)

    async def end(self) -> None:
        for node in self.nodes:
            if node.process.returncode is None:
                node.process.send_signal(signal.SIGCONT)
                await node.kill()


@asynccontextmanager
async def cluster(
    folder: Path,
    claude: str,
    app: str | None = None,
    *,
    database: str,
    redis: str | None = None,
    size: int = 3,
    env_of: Mapping[int, Mapping[str, str]] | None = None,
    port: int = 0,  # of the proxy
    **env: str,
) -> AsyncIterator[Cluster]:
    """So many nodes that answer. They are killed at the end."""
    settings = {"TURNLOG_DATABASE_URL": database, **env}
    if redis is not None:
        settings["TURNLOG_REDIS_URL"] = redis
    those = Cluster(folder, claude, app, settings, env_of or {})
    try:
        for place in range(size):
            await those.start_node(place)
        await asyncio.gather(*(node.ready() for node in those.nodes))
        async with AsyncExitStack() as stack:
            proxy = Proxy([_address(node) for node in those.nodes])
            those.proxy = await stack.enter_async_context(proxy.serve(port))
            yield those
    finally:
        await those.end()


def _address(node: ServerProcess) -> tuple[str, int]:
    return urlsplit(node.url).hostname or "", urlsplit(node.url).port or 0


class Person:
    """Somebody at one node, or at the proxy."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self.url = url

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        async with self._http.request(method, self.url + path, json=body) as response:
            answer = await response.json(content_type=None)
            if response.status >= 400:
                raise RuntimeError(f"{response.status}: {answer}")
            return answer

    async def session(self) -> str:
        return str((await self.ask("POST", "/api/sessions", {}))["id"])

    async def send(self, session_id: str, message: str, **more: Any) -> str:
        body = {"message": message, **more}
        return str((await self.ask("POST", f"/api/sessions/{session_id}/messages", body))["turnId"])

    async def reload(self, session_id: str) -> list[dict[str, Any]]:
        path = f"/api/sessions/{session_id}/messages?limit=500"
        return list((await self.ask("GET", path))["events"])

    @asynccontextmanager
    async def watch(
        self, session_id: str, after: str | None = None
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """What is shown of the session, as it comes."""
        path = f"{self.url}/api/sessions/{session_id}/stream"
        timeout = aiohttp.ClientTimeout(total=None)
        parameters = {} if after is None else {"after": after}
        async with self._http.get(path, timeout=timeout, params=parameters) as response:
            yield events_of(response)


async def events_of(response: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
    from turnlog.transports import wire

    async for line in response.content:
        if line.startswith(b"data: "):
            yield wire.decode(line.removeprefix(b"data: "))


async def until(events: AsyncIterator[dict[str, Any]], *types: str) -> list[dict[str, Any]]:
    """What comes, up to the first of these types."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        async for event in events:
            seen.append(event)
            if event["type"] in types:
                return seen
    raise AssertionError(f"the stream ended after {[event['type'] for event in seen]}")
