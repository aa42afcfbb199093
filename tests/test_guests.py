"""Code of others, in tasks of the server."""

import asyncio
import inspect

from turnlog.speaking import guests


async def test_a_task_of_a_guest_says_whether_it_has_begun():
    """anyio asks it before it cancels: a client of HTTP that tried two addresses hung."""
    guests.welcome()
    looking = asyncio.create_task(asyncio.sleep(0))
    assert inspect.getcoroutinestate(looking.get_coro()) == inspect.CORO_CREATED
    await looking
