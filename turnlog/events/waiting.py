"""Waiting for events, but not in silence: whoever waits is woken now and then to say so."""

import asyncio

HEARTBEAT = 15.0  # seconds; proxies and browsers give up on a silent connection after 30 to 60


async def wait_for_more(more: asyncio.Event, heartbeat: float) -> None:
    """Returns when something is there, or when it is time for a sign of life."""
    more.clear()
    beat = asyncio.get_running_loop().call_later(heartbeat, more.set)
    try:
        await more.wait()
    finally:
        beat.cancel()
