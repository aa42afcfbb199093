"""The document says what the server does, no more and no less; and what answers carry."""

import httpx2
import pytest

from turnlog import Agent, Settings, create_app
from turnlog.simulator import SimulatedClaude
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports.http.openapi import OPERATIONS


def made(**settings):
    return create_app([Agent("a")], settings=Settings(**settings), store=MemoryStore())


@pytest.fixture
async def http():
    async with SimulatedClaude().serve() as url:
        app = made(api_key="k", base_url=url, cors_origins="https://erp.example")
        async with (
            app,
            listen(app, "127.0.0.1", 0) as address,
            httpx2.AsyncClient(base_url=address, trust_env=False) as client,
        ):
            yield client


def test_every_route_is_in_the_document_and_nothing_else():
    routes = {
        (method, route.path) for route in made()._asgi.routes for method in route.methods - {"HEAD"}
    }
    assert routes == OPERATIONS.keys()


async def test_the_document_is_served_and_can_be_read(http):
    document = (await http.get("/openapi.json")).json()
    body = document["paths"]["/api/sessions/{session_id}/messages"]["post"]["requestBody"]
    name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert "message" in document["components"]["schemas"][name]["properties"]
    assert "/api/sessions" in (await http.get("/docs")).text


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
