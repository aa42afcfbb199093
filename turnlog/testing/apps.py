"""Apps for tests: the real server around a scripted Claude, in the running loop.

`async with scripted_app(Reply("Hello.")) as (app, sim):` is an open app. `served` puts one on a
loopback address, with a client.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from turnlog.app import Connection, Turnlog, create_app
from turnlog.config import Settings
from turnlog.events.base import Event
from turnlog.events.rows.record import stamped
from turnlog.ports import Agent, Engine, Store
from turnlog.projections.proof import prove
from turnlog.projections.transcript import Shown
from turnlog.simulator import Entry, SimulatedClaude, Stall
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.tokens import mint
from turnlog.tools.tool import tool
from turnlog.transports import wire

SECRET = "a secret of at least thirty-two characters"
STREAM = {"accept": "text/event-stream"}
_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # whom a client of a loopback address trusts


class Held(Stall):
    """The ending of a Reply whose rest comes when the test lets it: `held.go.set()`."""

    def __init__(self, after: int) -> None:
        super().__init__(after, float("inf"))
        object.__setattr__(self, "go", asyncio.Event())  # a Stall is frozen

    go: asyncio.Event

    async def over(self) -> None:
        await self.go.wait()


@asynccontextmanager
async def scripted_app(
    *entries: Entry,
    agents: Sequence[Agent] | None = (Agent("assistant"),),  # None: the demo's
    store: Store | str | None = None,
    engine: Engine | str = "claude",
    connections: Sequence[Connection] = (),
    **settings: Any,
) -> AsyncIterator[tuple[Turnlog, SimulatedClaude]]:
    """An open app with its Claude, which gives these answers and refuses a wrong request."""
    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as url:
        chosen = Settings(api_key="test", base_url=url, **settings)
        app = create_app(
            agents,
            settings=chosen,
            store=store or MemoryStore(),
            engine=engine,
            connections=connections,
        )
        async with app:
            yield app, sim


@asynccontextmanager
async def waiting_app(
    *entries: Entry, secret: str | None = None, store: Store | None = None, **settings: Any
) -> AsyncIterator[tuple[Turnlog, SimulatedClaude, asyncio.Event]]:
    """An app with a tool `wait`, and the event that lets it return."""
    go = asyncio.Event()

    @tool(writes=False)
    async def wait() -> str:
        """Waits until the test lets it go."""
        await go.wait()
        return "went"

    agents = [Agent("waiter", tools=[wait]), Agent("other")]
    options: dict[str, Any] = {"auth_secret": secret, "grace": 5.0, **settings}
    async with scripted_app(*entries, agents=agents, store=store, **options) as (app, sim):
        yield app, sim, go


@asynccontextmanager
async def client_of(
    app: Turnlog, headers: Mapping[str, str] | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the app, which is served for as long."""
    client = httpx2.AsyncClient(timeout=60, headers=headers, verify=_NOBODY)
    async with listen(app, "127.0.0.1", 0) as url, client as http:
        http.base_url = url
        yield http


@dataclass
class Server:
    """A served app, its Claude, a client, and the event that lets the tool `wait` return."""

    app: Turnlog
    sim: SimulatedClaude
    http: httpx2.AsyncClient
    go: asyncio.Event

    async def session(self, **headers: str) -> str:
        response = await self.http.post("/api/sessions", headers=headers)
        return str(response.json()["id"])

    async def ask(
        self,
        session_id: str,
        message: str = "Hi",
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx2.Response:
        path = f"/api/sessions/{session_id}/messages"
        return await self.http.post(path, json={"message": message, **more}, headers=headers)

    async def ended(self) -> None:
        """Wait until no turn runs."""
        await asyncio.gather(*self.app._turns._live.tasks)

    async def kept(self, session_id: str) -> list[Event]:
        return await kept_events(self.app.store, session_id)


@asynccontextmanager
async def served(
    *entries: Entry, secret: str | None = None, store: Store | None = None, **settings: Any
) -> AsyncIterator[Server]:
    """A served app with a tool `wait`."""
    async with (
        waiting_app(*entries, secret=secret, store=store, **settings) as (app, sim, go),
        client_of(app) as http,
    ):
        yield Server(app, sim, http, go)
        go.set()


async def kept_events(store: Store, session_id: str) -> list[Event]:
    """The log of a session, which has to be proven."""
    evidence = await store.evidence(session_id)
    assert prove(evidence).problems == []
    return [stamped(row).event for row in evidence.log]


# requests and responses


def as_user(name: str, **more: Any) -> dict[str, str]:
    """The headers of a user's request."""
    return {"authorization": f"Bearer {mint(SECRET, name, **more)}"}


def events(response: httpx2.Response) -> list[Shown]:
    """The events of a response that streams."""
    frames = [frame for frame in response.content.split(b"\n\n") if frame]
    return [wire.decode(frame.split(b"data: ", 1)[1]) for frame in frames]


def is_problem(response: httpx2.Response, status: int, code: str) -> str:
    """Check that the response is this problem document. Returns its detail."""
    document = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert document.keys() - {"error"} == {"type", "title", "status", "detail"}
    assert (response.status_code, document["status"]) == (status, status)
    assert document["type"] == f"urn:turnlog:problem:{code}"
    return str(document["detail"])
