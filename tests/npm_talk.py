"""A program of `tests/node` that is told what to do, line by line, and answers in JSON."""

import asyncio
import json
import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import nodejs


class Talk:
    def __init__(self, process):
        self._process = process

    async def tell(self, *command):
        """What became of the command."""
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        async with asyncio.timeout(60):
            line = await self._process.stdout.readline()
        assert line, "the program ended: see its output"
        return json.loads(line)

    def say(self, *command):
        """The same, without waiting for the answer."""
        self._process.stdin.write(json.dumps(command).encode() + b"\n")

    async def hear(self):
        async with asyncio.timeout(60):
            return json.loads(await self._process.stdout.readline())


@asynccontextmanager
async def npm_talk(script, *args, folder=nodejs.FOLDER):
    path = Path(__file__).parent / "node" / script
    process = await asyncio.create_subprocess_exec(
        *(nodejs.node(), path, folder, *args),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=2**24,
        env=os.environ | {"COPILOTKIT_TELEMETRY_DISABLED": "true"},
    )
    try:
        yield Talk(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
