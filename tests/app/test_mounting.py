"""turnlog inside of Starlette and FastAPI: routes, streams, sockets, and the host's own routes."""

import asyncio

import httpx2
import pytest
import socketio
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from turnlog import Agent, Settings, create_app
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import STREAM, events, is_problem
from turnlog.transports.listening import listening

pytestmark = pytest.mark.slow  # whole servers


async def own(request=None):
    return PlainTextResponse("the host's own")


def in_starlette(app, **options):
    return Starlette(routes=[Route("/own", own), Mount("/assistant", app)], **options)


def in_fastapi(app, **options):
    host = FastAPI(**options)
    host.add_api_route("/own", own)
    host.mount("/assistant", app)
    return host


def in_both(app, **options):
    return Starlette(routes=[Route("/own", own), Mount("/outer", in_starlette(app))], **options)


HOSTS = {"starlette": in_starlette, "fastapi": in_fastapi, "nested": in_both}
PLACES = {"starlette": "/assistant", "fastapi": "/assistant", "nested": "/outer/assistant"}


@pytest.fixture(params=HOSTS)
async def mounted(request):
    """A server with turnlog in it, and a client of where it is mounted."""
    async with SimulatedClaude(*[Reply("Hello.")] * 4, pace=0).serve() as url:
        settings = Settings(api_key="k", base_url=url)
        app = create_app([Agent("a")], settings=settings, store=MemoryStore())
        host = HOSTS[request.param](app, lifespan=app.lifespan)
        (sock,) = listening("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(host, log_config=None, log_level="error"))
        server.install_signal_handlers = lambda: None
        running = asyncio.create_task(server.serve(sockets=[sock]))
        address = f"http://127.0.0.1:{sock.getsockname()[1]}"
        async with httpx2.AsyncClient(
            timeout=60, base_url=f"{address}{PLACES[request.param]}"
        ) as http:
            yield http, address, PLACES[request.param]
        server.should_exit = True
        await running


async def test_it_answers_beside_the_hosts_own_routes(mounted):
    http, address, _ = mounted
    assert (await http.get(f"{address}/own")).text == "the host's own"
    session = (await http.post("/api/sessions")).json()["id"]
    asked = await http.post(
        f"/api/sessions/{session}/messages", json={"message": "Hi"}, headers=STREAM
    )
    assert [e["type"] for e in events(asked)][-2:] == ["message", "complete"]
    assert asked.headers["x-content-type-options"] == "nosniff"
    listed = await http.get("/api/sessions")
    assert (len(listed.json()["sessions"]), listed.headers["cache-control"]) == (1, "no-store")


async def test_its_documents_are_its_own(mounted):
    http, _, place = mounted
    assert 'href="openapi.json"' in (await http.get("/docs")).text
    document = (await http.get("/openapi.json")).json()
    assert document["servers"] == [{"url": place}] and "/api/sessions" in document["paths"]


async def test_tickets_are_for_paths_below_it(mounted):
    http, _, place = mounted
    for path in ("/api/sessions", f"{place}/api/sessions"):
        ticket = (await http.post("/api/tickets", json={"path": path})).json()["ticket"]
        found = await http.get("/api/sessions", params={"ticket": ticket})
        assert found.status_code == 200
        is_problem(await http.get("/api/sessions", params={"ticket": ticket}), 401, "unauthorized")


@pytest.mark.parametrize("transport", ["websocket", "polling"])
async def test_sockets_work_below_it(mounted, transport):
    http, address, place = mounted
    session = (await http.post("/api/sessions")).json()["id"]
    over = asyncio.Event()
    client = socketio.AsyncClient()

    @client.on("agent:event")
    async def on_event(event):
        if event["type"] == "complete":
            over.set()

    await client.connect(
        address, socketio_path=f"{place}/socket.io", transports=[transport], wait_timeout=60
    )
    assert (await client.call("session:join", {"sessionId": session}))["ok"]
    asked = {"sessionId": session, "message": "Hi"}
    assert (await client.call("chat:message", asked))["ok"]
    async with asyncio.timeout(60):
        await over.wait()
    await client.disconnect()


async def test_a_host_that_forgets_the_lifespan_is_told_so():
    app = create_app([Agent("a")], settings=Settings(), store=MemoryStore())
    transport = httpx2.ASGITransport(app=in_starlette(app))
    async with httpx2.AsyncClient(
        timeout=60, transport=transport, base_url="http://127.0.0.1"
    ) as http:
        refused = await http.get("/assistant/api/sessions")
        assert "lifespan=app.lifespan" in is_problem(refused, 503, "not_open")
