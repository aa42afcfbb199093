"""Processes that read files, so that a file can harm nothing but itself.

Each job has a time limit and runs in a process with a memory limit. A process that crashes, hangs
or grows old is replaced. They are started when they are needed first.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from turnlog.errors import NotStored, TooMany, Unreadable

_log = logging.getLogger(__name__)
MEMORY = 1_200_000_000  # bytes of address space of one process
SECONDS = 20.0  # that one job may take
OLDEST = 200  # jobs of one process
MOST_WAITING = 200  # jobs
LONGEST_ANSWER = 4_000_000  # bytes
INHERITED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "TMPDIR", "TZ")
CRASHED = "The file cannot be read: reading it failed."
TOO_SLOW = "The file cannot be read: it takes too long."


class Workers:
    """`count` processes at most. `run` waits until one is free."""

    def __init__(self, count: int = 2, memory: int = MEMORY, seconds: float = SECONDS) -> None:
        self._memory = memory
        self._seconds = seconds
        self._free = asyncio.Semaphore(count)
        self._idle: list[_Worker] = []
        self._waiting = 0

    async def run(self, job: str, *, seconds: float | None = None, **args: Any) -> dict[str, Any]:
        """What the job gives. Raises Unreadable with a sentence, TooMany where too many wait, and
        NotStored where there is no room for it."""
        if self._waiting >= MOST_WAITING:
            raise TooMany("Too many files are being read. Try again in a moment.", 5)
        line = json.dumps({"job": job, **_plain(args)}).encode() + b"\n"
        self._waiting += 1
        try:
            async with self._free, self._worker() as worker:
                answer = await worker.answer(line, seconds or self._seconds)
        finally:
            self._waiting -= 1
        if "full" in answer:
            raise NotStored("The server cannot store files at the moment. Try again later.")
        if "refused" in answer:
            raise Unreadable(answer["refused"])
        return dict(answer["result"])

    async def close(self) -> None:
        for worker in self._idle:
            await worker.end()
        self._idle.clear()

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator["_Worker"]:
        while self._idle and not self._idle[-1].lives:
            await self._idle.pop().end()
        worker = self._idle.pop() if self._idle else await _Worker.start(self._memory)
        try:
            yield worker
        except BaseException:  # it is in the middle of something, or dead
            await worker.end()
            raise
        if worker.jobs < OLDEST:
            self._idle.append(worker)
        else:
            await worker.end()


class _Worker:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.jobs = 0

    @classmethod
    async def start(cls, memory: int) -> "_Worker":
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "turnlog.files.reading.child", str(memory)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in INHERITED if name in os.environ},
            limit=LONGEST_ANSWER,
        )
        return cls(process)

    @property
    def lives(self) -> bool:
        return self._process.returncode is None

    async def answer(self, line: bytes, seconds: float) -> dict[str, Any]:
        self.jobs += 1
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                self._process.stdin.write(line)
                await self._process.stdin.drain()
                answer = await self._process.stdout.readline()
        except TimeoutError:
            raise Unreadable(TOO_SLOW) from None
        except (ConnectionError, ValueError):
            answer = b""
        if not answer.endswith(b"\n"):
            _log.warning("a process that reads files has ended in the middle of a job")
            raise Unreadable(CRASHED)
        return dict(json.loads(answer))

    async def end(self) -> None:
        if self.lives:
            self._process.kill()
        await self._process.wait()


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in args.items()}
