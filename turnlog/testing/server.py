"""A real `turnlog serve` in a process of its own, to be used, stopped and killed in tests."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from turnlog.testing.servers.process import free_port

STARTS_WITHIN = 120.0  # seconds; it takes half of one, but machines are shared
STOPS_WITHIN = 120.0


@dataclass(frozen=True)
class ServerProcess:
    """A server that was started here, and so may be ended here, by its own pid."""

    url: str
    process: asyncio.subprocess.Process
    log: Path  # what it wrote to its terminal

    async def ready(self) -> None:
        """Wait until /healthz answers. Raises if the process ends before it does."""
        async with asyncio.timeout(STARTS_WITHIN), aiohttp.ClientSession() as http:
            while not await _answers(http, f"{self.url}/healthz"):
                if self.process.returncode is not None:
                    raise RuntimeError(f"the server did not start:\n{self.log.read_text()}")

    async def kill(self) -> float:
        """kill -9: the process gets no chance to do anything. Returns when, by monotonic()."""
        killed_at = time.monotonic()
        self.process.kill()  # by its pid, and only while it is ours
        await self.process.wait()
        return killed_at

    async def stop(self) -> int:
        """SIGTERM, as a service manager would; the exit code."""
        self.process.terminate()
        async with asyncio.timeout(STOPS_WITHIN):
            return await self.process.wait()


async def start(
    folder: Path, claude: str, app: str | None = None, env: Mapping[str, str] | None = None
) -> ServerProcess:
    """Start a server whose data is in `folder` and who asks the Claude at that url.

    `app` is MODULE:APP, with the module in `folder`. The server may not listen yet.
    """
    port = free_port()
    log = folder / "server.log"
    command = [sys.executable, "-m", "turnlog.cli", "serve", f"--port={port}"]
    settings = {
        "ANTHROPIC_BASE_URL": claude,
        "ANTHROPIC_API_KEY": "simulated",
        "TURNLOG_DATA": str(folder / "data"),
    }
    with log.open("a") as terminal:
        process = await asyncio.create_subprocess_exec(
            *command,
            *([app] if app else []),
            cwd=folder,
            env={**os.environ, **settings, **(env or {})},
            stdout=terminal,
            stderr=terminal,
        )
    return ServerProcess(f"http://127.0.0.1:{port}", process, log)


@asynccontextmanager
async def serving(
    folder: Path, claude: str, app: str | None = None, env: Mapping[str, str] | None = None
) -> AsyncIterator[ServerProcess]:
    """A server that answers. It is killed at the end, if it still lives."""
    server = await start(folder, claude, app, env)
    try:
        await server.ready()
        yield server
    finally:
        if server.process.returncode is None:
            await server.kill()


async def _answers(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(url) as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        await asyncio.sleep(0.02)  # nobody listens there yet
        return False
