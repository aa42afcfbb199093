"""An MCP server that is a program: it talks on stdin and stdout, one line for each message.

The official client has this too, and reads a line that never ends until memory does. Here a line
has a bound, and whoever goes beyond it is stopped.
"""

import asyncio
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from turnlog.tools.mcp.pace import Pace
from turnlog.tools.mcp.server import McpServer

_log = logging.getLogger(__name__)
GRACE = 2.0  # seconds that a program has to end by itself, and again when it is told to
_PIECE = 65_536
Heard = SessionMessage | Exception


@asynccontextmanager
async def started(server: McpServer, pace: Pace, most_bytes: int) -> AsyncIterator[tuple[Any, Any]]:
    """The program, as the streams of a session. It ends with them, and so do its children."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(most_bytes, loop),
        *server.program,
        stdin=PIPE,
        stdout=PIPE,
        stderr=None,
        env=get_default_environment() | dict(server.env),
        start_new_session=True,  # a group of its own, which can be ended as a whole
    )
    process = Process(transport, protocol, loop)
    hears, reading = anyio.create_memory_object_stream[Heard](0)
    writing, says = anyio.create_memory_object_stream[SessionMessage](0)
    hearing = asyncio.create_task(_hear(process, hears, pace, server.name))
    saying = asyncio.create_task(_say(process, says, hears))
    try:
        yield reading, writing
    finally:
        reading.close()
        writing.close()
        try:
            with anyio.CancelScope(shield=True):
                await asyncio.wait([saying], timeout=GRACE)  # such as that a call is taken back
                await _told_to_end(process)
        finally:  # also if this task is cancelled once more
            _signal(process, signal.SIGKILL)
            transport.close()
            hearing.cancel()
            saying.cancel()


async def _hear(
    process: Process, hears: MemoryObjectSendStream[Heard], pace: Pace, name: str
) -> None:
    assert process.stdout is not None
    try:
        while line := await process.stdout.readline():
            await pace.after(len(line))
            await hears.send(_message(line))
    except ValueError:
        _log.warning("MCP server %s wrote a line that is too long: it is stopped", name)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        pass
    finally:
        hears.close()  # who waits for an answer is told
    while await process.stdout.read(_PIECE):
        pass  # a program that is stuck in writing would not see that it is to end


def _message(line: bytes) -> Heard:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _say(
    process: Process,
    says: MemoryObjectReceiveStream[SessionMessage],
    hears: MemoryObjectSendStream[Heard],
) -> None:
    assert process.stdin is not None
    try:
        async for each in says:
            line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
    except OSError:
        pass
    finally:
        says.close()
        hears.close()  # nothing more can be asked


async def _told_to_end(process: Process) -> None:
    """As MCP wants it: by the end of stdin, and then by signals."""
    assert process.stdin is not None
    process.stdin.close()
    for stronger in (signal.SIGTERM, signal.SIGKILL, None):
        with anyio.move_on_after(GRACE):
            await process.wait()
            return
        if stronger:
            _signal(process, stronger)


def _signal(process: Process, number: signal.Signals) -> None:
    """It, and those of its children that are still there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
