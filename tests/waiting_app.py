"""An app with a scripted Claude and a tool that waits until the test lets it go."""

import asyncio
from contextlib import asynccontextmanager

from turnlog import Agent, Settings, create_app, tool
from turnlog.simulator import SimulatedClaude
from turnlog.stores.memory.store import MemoryStore


@asynccontextmanager
async def waiting_app(*entries, secret=None, store=None):
    """Yields the app, the simulation, and the event that lets the tool go."""
    go = asyncio.Event()

    @tool(writes=False)
    async def wait() -> str:
        """Waits until the test lets it go."""
        await go.wait()
        return "went"

    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as claude:
        settings = Settings(api_key="k", base_url=claude, auth_secret=secret, grace=5.0)
        agents = [Agent("waiter", tools=[wait]), Agent("other")]
        app = create_app(agents, settings=settings, store=store or MemoryStore())
        async with app:
            yield app, sim, go
