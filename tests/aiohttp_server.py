"""An aiohttp application on loopback, for servers of others that tests play."""

from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def listening(handle, path="/{path:.*}"):
    """Whatever is posted to this path goes to `handle`; yields the address."""
    app = web.Application()
    app.router.add_post(path, handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
