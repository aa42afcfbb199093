"""The document says what the server does, no more and no less; and what answers carry."""

import httpx2
import msgspec
import pytest

from turnlog import Agent, Settings, create_app
from turnlog.simulator import SimulatedClaude
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports.http import openapi
from turnlog.transports.http.routes import ROUTES, Route
from turnlog.transports.http.site import Site


def made(**settings):
    return create_app([Agent("a")], settings=Settings(**settings), store=MemoryStore())


@pytest.fixture
async def http():
    async with SimulatedClaude(pace=0).serve() as url:
        app = made(api_key="k", base_url=url, cors_origins="https://erp.example")
        async with (
            app,
            listen(app, "127.0.0.1", 0) as address,
            httpx2.AsyncClient(timeout=60, base_url=address) as client,
        ):
            yield client


TABLE = [(route.method, route.path) for route in ROUTES]


def served():
    """What the application answers, beside the files of the web UI."""
    messages, *others = made()._asgi.routes
    routes = [messages, *others[len(Site().routes()) :]]
    return [(method, route.path) for route in routes for method in route.methods - {"HEAD"}]


def documented():
    paths = openapi.document(ROUTES, "1")["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def test_every_route_is_served_and_documented_once_and_nothing_else_is():
    assert len(set(TABLE)) == len(TABLE)
    assert sorted(served()) == sorted(documented()) == sorted(TABLE)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_says_what_it_takes(route):
    assert route.summary and route.answer
    assert set(route.query) <= openapi.QUERY.keys()
    assert (route.body is None) == (route.example is None)
    if route.body is not None:
        msgspec.convert(route.example, route.body)  # and so it can be tried


async def test_a_route_without_a_guard_lets_nobody_in(monkeypatch, http):
    async def handler(request):
        raise AssertionError("somebody came in")

    forgotten = Route("GET", "/forgotten", "whoever", handler, "A mistake.")
    monkeypatch.setattr("turnlog.transports.http.app.ROUTES", (forgotten,))
    app = made()
    async with listen(app, "127.0.0.1", 0) as address:
        assert (await http.get(f"{address}/forgotten")).status_code == 500


async def test_the_document_is_served_and_can_be_read(http):
    document = (await http.get("/openapi.json")).json()
    body = document["paths"]["/api/sessions/{session_id}/messages"]["post"]["requestBody"]
    name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert "message" in document["components"]["schemas"][name]["properties"]
    page = (await http.get("/docs")).text
    assert "/api/sessions" in page and "<td>anybody</td>" in page


async def test_what_everybody_may_read_is_made_once(http, monkeypatch):
    paths = ("/openapi.json", "/docs")
    made_once = [(await http.get(path)).text for path in paths]
    monkeypatch.delattr(openapi, "document")
    monkeypatch.delattr(openapi, "page")
    assert [(await http.get(path)).text for path in paths] == made_once


async def test_every_answer_is_shielded(http):
    for path in ("/", "/docs", "/healthz", "/nothing"):
        headers = (await http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]


async def test_only_the_sites_that_are_named_may_ask_from_a_page(http):
    asked = {"access-control-request-method": "POST"}
    good = await http.options("/api/sessions", headers=asked | {"origin": "https://erp.example"})
    bad = await http.options("/api/sessions", headers=asked | {"origin": "https://evil.example"})
    assert good.headers.get("access-control-allow-origin") == "https://erp.example"
    assert "access-control-allow-origin" not in bad.headers


async def test_long_json_is_compressed_and_streams_are_not(http):
    assert (await http.get("/openapi.json")).headers["content-encoding"] == "gzip"
    session = (await http.post("/api/sessions")).json()["id"]
    answer = await http.post(
        f"/api/sessions/{session}/messages",
        json={"message": "Hello"},
        headers={"accept": "text/event-stream"},
    )
    assert "content-encoding" not in answer.headers and "complete" in answer.text
