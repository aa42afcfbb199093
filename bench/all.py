"""Every benchmark, one after the other, printed as tables.

Figures are never asserted; an event that is lost or comes twice makes the exit code 1.
"""

import asyncio
import tempfile
from pathlib import Path

import uvicorn

from bench import calls as python_calls
from bench import engines as a_chunk
from bench import load, turns
from bench.parts import Say


def run(
    say: Say,
    quick: bool = False,
    sockets: bool = False,
    calls: bool = False,
    engines: bool = False,
    write: bool = False,
) -> int:
    """Measure everything, or one thing only, on the kind of event loop that the server has."""
    loop_factory = uvicorn.Config("turnlog", log_config=None).get_loop_factory()
    if engines:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(a_chunk.measure(say))
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder,
        asyncio.Runner(loop_factory=loop_factory) as runner,
    ):
        return runner.run(_measure(say, Path(folder), quick, sockets, calls, write))


async def _measure(
    say: Say, folder: Path, quick: bool, sockets: bool, calls: bool, write: bool
) -> int:
    if calls:
        await python_calls.measure(say, folder, write=write)
        return 0
    turns.describe(say, folder)
    if not sockets:
        await turns.measure(say, folder, turns.QUICK if quick else turns.FULL)
    broken = await load.measure(say, folder, load.QUICK if quick else load.FULL)
    return 1 if broken else 0
