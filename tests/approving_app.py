"""An app with a write tool that counts its effects, and people who answer over HTTP."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2

from turnlog import Agent, Settings, Turnlog, create_app, tool
from turnlog.errors import ToolError
from turnlog.events.record import stamped
from turnlog.projections.proof import prove
from turnlog.simulator import SimulatedClaude
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore

SECRET = "a secret of at least thirty-two characters"


@dataclass
class World:
    """What the tools changed."""

    paid: list = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)  # lets `pay_slowly` end


@dataclass
class Office:
    """A served app with its world."""

    app: Turnlog
    sim: SimulatedClaude
    http: httpx2.AsyncClient
    world: World

    async def session(self, headers=None):
        return (await self.http.post("/api/sessions", headers=headers)).json()["id"]

    async def ask(self, session, message="Pay", headers=None, **more):
        path = f"/api/sessions/{session}/messages"
        return await self.http.post(path, json={"message": message, **more}, headers=headers)

    async def asked(self, *messages, headers=None):
        """A session whose last message made the turn rest, and what people must decide."""
        session = await self.session(headers)
        for message in messages or ("Pay",):
            assert (await self.ask(session, message, headers)).status_code == 202
            await self.rest()
        return session, await self.pending(headers)

    async def pending(self, headers=None, status="pending"):
        params = {"status": status} if status else {}
        answer = await self.http.get("/api/approvals", params=params, headers=headers)
        return answer.json()["approvals"]

    async def answer(self, approval, headers=None, **said):
        path = f"/api/approvals/{approval['id']}"
        return await self.http.post(path, json={"approved": True, **said}, headers=headers)

    async def until(self, look):
        """What `look` finds, once it finds something."""
        async with asyncio.timeout(30):
            while not (found := await look()):  # noqa: ASYNC110 - time itself is waited for
                await asyncio.sleep(0.01)
        return found

    async def rest(self):
        while tasks := list(self.app._turns._tasks):
            await asyncio.gather(*tasks)

    async def kept(self, session):
        evidence = await self.app.store.evidence(session)
        assert prove(evidence).problems == []
        return [stamped(row).event for row in evidence.log]


def tools(world):
    @tool(describe="Pay {amount} to {to}")
    async def pay(amount: int, to: str = "Bob") -> str:
        """Pay somebody."""
        world.paid.append((to, amount))
        return f"paid {amount}"

    @tool(approval="never")
    async def pay_slowly(amount: int) -> str:
        """Pay when told to."""
        world.paid.append(("slow", amount))
        await world.go.wait()
        return "paid"

    @tool(approval="never", timeout=0.05)
    async def pay_late(amount: int) -> str:
        """Pays, and then takes too long to say so."""
        world.paid.append(("late", amount))
        await asyncio.Event().wait()

    @tool(approval="never")
    async def pay_nobody(amount: int) -> str:
        """Always refuses."""
        raise ToolError("There is nobody to pay.")

    return [pay, pay_slowly, pay_late, pay_nobody]


@asynccontextmanager
async def office(*entries, secret=None, store=None, **settings):
    world, sim = World(), SimulatedClaude(*entries, pace=0)
    async with sim.serve() as claude:
        chosen = Settings(api_key="k", base_url=claude, auth_secret=secret, grace=5.0, **settings)
        agents = [Agent("clerk", tools=tools(world))]
        app = create_app(agents, settings=chosen, store=store or MemoryStore())
        client = httpx2.AsyncClient(timeout=60)
        async with app, listen(app, "127.0.0.1", 0) as url, client as http:
            http.base_url = url
            yield Office(app, sim, http, world)
            world.go.set()
        assert sim.refused == []
