"""An office for tests: an app with write tools that count their effects, and people who decide."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2

from turnlog.app import Turnlog
from turnlog.errors import ToolError
from turnlog.events.base import Event
from turnlog.ports import Agent, Store
from turnlog.simulator import Entry, SimulatedClaude
from turnlog.testing.apps import client_of, kept_events, scripted_app
from turnlog.tools.tool import Tool, tool

Headers = Mapping[str, str] | None
T = TypeVar("T")


@dataclass
class World:
    """What the tools have changed."""

    paid: list[tuple[str, int]] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)  # lets `pay_slowly` return


@dataclass
class Office:
    """A served app with its world."""

    app: Turnlog
    sim: SimulatedClaude
    http: httpx2.AsyncClient
    world: World

    async def session(self, headers: Headers = None) -> str:
        return str((await self.http.post("/api/sessions", headers=headers)).json()["id"])

    async def ask(
        self, session: str, message: str = "Pay", headers: Headers = None, **more: Any
    ) -> httpx2.Response:
        path = f"/api/sessions/{session}/messages"
        return await self.http.post(path, json={"message": message, **more}, headers=headers)

    async def asked(self, *messages: str, headers: Headers = None) -> tuple[str, list[Any]]:
        """A session after these messages, at rest, and the questions that are open."""
        session = await self.session(headers)
        for message in messages or ("Pay",):
            assert (await self.ask(session, message, headers)).status_code == 202
            await self.rest()
        return session, await self.pending(headers)

    async def pending(self, headers: Headers = None, status: str = "pending") -> list[Any]:
        params = {"status": status} if status else {}
        response = await self.http.get("/api/approvals", params=params, headers=headers)
        approvals: list[Any] = response.json()["approvals"]
        return approvals

    async def answer(
        self, approval: Mapping[str, Any], headers: Headers = None, **answer: Any
    ) -> httpx2.Response:
        path = f"/api/approvals/{approval['id']}"
        return await self.http.post(path, json={"approved": True, **answer}, headers=headers)

    async def until(self, look: Callable[[], Awaitable[T]]) -> T:
        """The result of `look`, once it is true."""
        async with asyncio.timeout(60):
            while not (result := await look()):
                await asyncio.sleep(0.01)
        return result

    async def rest(self) -> None:
        """Wait until no turn runs."""
        while tasks := list(self.app._turns._live.tasks):
            await asyncio.gather(*tasks)

    async def kept(self, session: str) -> list[Event]:
        return await kept_events(self.app.store, session)


def tools(world: World) -> list[Tool]:
    @tool(describe="Pay {amount} to {to}")
    async def pay(amount: int, to: str = "Bob") -> str:
        """Pay somebody."""
        world.paid.append((to, amount))
        return f"paid {amount}"

    @tool(approval="never")
    async def pay_slowly(amount: int) -> str:
        """Pays, and returns when the test lets it go."""
        world.paid.append(("slow", amount))
        await world.go.wait()
        return "paid"

    @tool(approval="never", timeout=0.05)
    async def pay_late(amount: int) -> str:
        """Pays, and never returns."""
        world.paid.append(("late", amount))
        await asyncio.Event().wait()
        return "paid"

    @tool(approval="never")
    async def pay_nobody(amount: int) -> str:
        """Always refuses."""
        raise ToolError("There is nobody to pay.")

    return [pay, pay_slowly, pay_late, pay_nobody]


@asynccontextmanager
async def office(
    *entries: Entry,
    secret: str | None = None,
    store: Store | None = None,
    more: Sequence[Tool] = (),
    approver: str | None = None,
    **settings: Any,
) -> AsyncIterator[Office]:
    """`more`: further tools of the clerk; `approver`: who may decide there."""
    world = World()
    agents = [Agent("clerk", tools=[*tools(world), *more], approver=approver)]
    options = {"auth_secret": secret, "grace": 5.0, **settings}
    async with scripted_app(*entries, agents=agents, store=store, **options) as (app, sim):
        async with client_of(app) as http:
            yield Office(app, sim, http, world)
            world.go.set()
        assert sim.refused == []
