"""Code of others in tasks of this server: none of it ends the server."""

import asyncio
import inspect

import pytest

from turnlog.speaking import guests
from turnlog.tools.call import called


async def test_what_a_tool_begins_cannot_end_the_server():
    async def leaves():
        raise SystemExit(2)  # as argparse does

    async def looks_twice():
        await asyncio.gather(leaves(), leaves())

    with pytest.raises(guests.GuestEnded):
        await asyncio.create_task(called(looks_twice))


async def test_what_a_tool_begins_is_a_coroutine_for_all_who_look():
    """anyio does, before it cancels one."""

    async def looks():
        task = asyncio.create_task(asyncio.sleep(0))
        state = inspect.getcoroutinestate(task.get_coro())
        await task
        return state, task.get_coro().__qualname__

    found = await asyncio.create_task(called(looks))
    assert found == (inspect.CORO_CREATED, "sleep")
