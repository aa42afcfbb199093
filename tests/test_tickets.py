"""Tickets: one path, once, within a minute, for somebody who cannot send a token."""

import pytest

from turnlog.errors import Unauthorized
from turnlog.simulator import Reply
from turnlog.testing.apps import SECRET, as_user, events, is_problem, served
from turnlog.transports.access import tickets

ALICE, BOB = as_user("alice"), as_user("bob")


async def issued(server, path, headers=ALICE):
    response = await server.http.post("/api/tickets", json={"path": path}, headers=headers)
    assert response.status_code == 201
    assert response.json().keys() == {"ticket", "expiresAt"}
    return {"ticket": response.json()["ticket"]}


async def hers(server):
    response = await server.http.post("/api/sessions", headers=ALICE)
    return f"/api/sessions/{response.json()['id']}"


async def test_a_ticket_opens_its_path_once():
    async with served(secret=SECRET) as server:
        path = await hers(server)
        ticket = await issued(server, path)
        assert (await server.http.get(path, params=ticket)).status_code == 200
        is_problem(await server.http.get(path, params=ticket), 401, "unauthorized")


async def test_a_ticket_for_another_path_is_refused_and_spent():
    async with served(secret=SECRET) as server:
        path = await hers(server)
        ticket = await issued(server, path)
        is_problem(await server.http.get("/api/sessions", params=ticket), 401, "unauthorized")
        is_problem(await server.http.get(path, params=ticket), 401, "unauthorized")


async def test_a_ticket_opens_nothing_of_somebody_else():
    async with served(secret=SECRET) as server:
        path = await hers(server)
        ticket = await issued(server, path, BOB)
        is_problem(await server.http.get(path, params=ticket), 404, "not_found")


@pytest.mark.parametrize("method", ["PATCH", "HEAD"])
async def test_a_ticket_only_gets(method):
    async with served(secret=SECRET) as server:
        path = await hers(server)
        ticket = await issued(server, path)
        refused = await server.http.request(method, path, params=ticket)
        assert refused.status_code == 401
        assert (await server.http.get(path, params=ticket)).status_code == 200


async def test_a_ticket_mints_no_ticket():
    async with served(secret=SECRET) as server:
        ticket = await issued(server, "/api/tickets")
        made = await server.http.post("/api/tickets", params=ticket, json={"path": "/api/x"})
        is_problem(made, 401, "unauthorized")


async def test_a_stream_is_watched_with_a_ticket_and_a_cursor():
    async with served(Reply("Hello."), secret=SECRET) as server:
        path = await hers(server)
        stream = await server.http.post(
            f"{path}/messages",
            json={"message": "Hi"},
            headers=ALICE | {"accept": "text/event-stream"},
        )
        assert events(stream)[-1]["type"] == "complete"
        ticket = await issued(server, f"{path}/stream")
        async with server.http.stream(
            "GET", f"{path}/stream", params=ticket | {"after": "-1.-1"}
        ) as watched:
            assert watched.status_code == 200
            first = await anext(watched.aiter_lines())
            assert first.startswith("id: 0")


BAD_PATHS = ["", "api/sessions", "/mcp", "https://evil.example/api/", "/api/a?b", "/api/a#b",
             "/api/" + "a" * 500, "/api/\x00"]  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS)
async def test_a_ticket_is_for_a_path_of_the_api(path):
    async with served() as server:
        response = await server.http.post("/api/tickets", json={"path": path})
        is_problem(response, 400, "bad_input")


@pytest.mark.parametrize("text", ["", "x", "ü", "a" * 10_000])
async def test_nonsense_is_no_ticket(text):
    async with served(secret=SECRET) as server:
        response = await server.http.get("/api/sessions", params={"ticket": text})
        is_problem(response, 401, "unauthorized")


async def test_a_ticket_expires(monkeypatch):
    monkeypatch.setattr(tickets, "SECONDS", -1.0)
    async with served(secret=SECRET) as server:
        ticket = await issued(server, "/api/sessions")
        with pytest.raises(Unauthorized):
            await tickets.use(server.app.store, ticket["ticket"], "/api/sessions")


async def test_a_ticket_keeps_the_roles_of_its_holder():
    async with served(secret=SECRET) as server:
        admin = as_user("root", admin=True)
        path = "/api/billing/user/alice"
        ticket = await issued(server, path, admin)
        assert (await server.http.get(path, params=ticket)).status_code == 200
        ticket = await issued(server, path, BOB)
        assert (await server.http.get(path, params=ticket)).status_code in (403, 404)
