"""What a hostile tenant may do: write as often as a user may, and no longer than the token."""

import asyncio
from contextlib import suppress

import pytest
import socketio
import uvicorn
from uvicorn.server import ServerState

from turnlog.errors import NotStored, TooMany
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import SECRET, as_user, is_problem, served
from turnlog.testing.office import office
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.transports.access import limits as limits_module
from turnlog.transports.access.limits import MINUTE, MOST_USERS, TAKEN, WriteLimits
from turnlog.transports.http.app import WRITING
from turnlog.transports.http.routes import ROUTES
from turnlog.transports.http.serving import head_deadline
from turnlog.turns.people import decisions

PAY = Reply(ToolCall("pay", {"amount": 5}, "toolu_pay"))
WRITES = [route for route in ROUTES if route.method in WRITING and route.handler is not None]


# how often


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
async def test_every_route_that_writes_is_limited(route):
    path = route.path.replace("{", "").replace("}", "")
    role = {"admin": True} if route.who == "admin" else {}
    async with office(secret=SECRET, writes_a_minute=3) as desk:
        answers = [
            await desk.http.request(route.method, path, json={}, headers=as_user("alice", **role))
            for _ in range(4)
        ]
        other = await desk.http.request(route.method, path, json={}, headers=as_user("bob", **role))
    assert [answer.status_code == 429 for answer in answers] == [False] * 3 + [True]
    assert is_problem(answers[-1], 429, "too_many") == "More than 3 changes in a minute."
    assert int(answers[-1].headers["retry-after"]) >= 1
    # Whoever has no token yet shares one limit with all the others.
    assert (other.status_code == 429) == (route.who == "none")


async def test_a_bucket_fills_up_again_within_a_minute():
    time = [0.0]
    limits = WriteLimits(60, clock=lambda: time[0])
    for _ in range(60):
        await limits.count("alice")
    with pytest.raises(TooMany):
        await limits.count("alice")
    time[0] += 1.0
    await limits.count("alice")
    with pytest.raises(TooMany):
        await limits.count("alice")


async def test_what_is_remembered_of_users_is_bounded():
    limits = WriteLimits(1, clock=lambda: MINUTE)
    for n in range(MOST_USERS + 100):
        await limits.count(f"user {n}")
    assert len(limits._buckets) == MOST_USERS
    with pytest.raises(TooMany):
        await limits.count(f"user {MOST_USERS + 99}")


class Away:
    async def take_writes(self, user_id, *, wanted, most):
        raise NotStored("The database is away.")


async def test_a_node_that_cannot_ask_for_what_is_left_counts_by_itself():
    limits = WriteLimits(2, clock=lambda: 0.0, shared=Away())
    for _ in range(2):
        await limits.count("alice")
    with pytest.raises(TooMany):
        await limits.count("alice")


class Plenty:
    """Gives what is wanted, and notes who wanted it."""

    def __init__(self):
        self.asked = []

    async def take_writes(self, user_id, *, wanted, most):
        self.asked.append(user_id)
        return wanted


async def test_what_a_node_has_taken_for_users_who_are_active_is_not_dropped(monkeypatch):
    monkeypatch.setattr(limits_module, "MOST_USERS", 2)
    shared = Plenty()
    limits = WriteLimits(3 * TAKEN, shared=shared)  # three are taken at once
    for user in ("busy", "quiet", "busy", "new"):
        await limits.count(user)
    assert limits._taken == {"busy": 1, "new": 2}  # and not those of "quiet"
    for user in ("busy", "other", "new"):  # what is used up leaves its place to others
        await limits.count(user)
    assert limits._taken == {"other": 2, "new": 1}
    assert shared.asked == ["busy", "quiet", "new", "other"]


async def test_answers_that_do_not_count_do_not_fill_the_log():
    async with office(PAY, Reply("Done.")) as desk:
        session, (asked,) = await desk.asked()
        await desk.answer(asked)
        await desk.rest()
        for _ in range(20):
            is_problem(await desk.answer(asked), 409, "already_decided")
        kept = await desk.kept(session)
    assert sum(isinstance(e, k.DecisionRefused) for e in kept) == decisions.MOST_REFUSALS


# how long


@pytest.mark.slow
@pytest.mark.parametrize("how", ["token", "ticket"])
async def test_an_event_stream_ends_with_its_token(how):
    async with served(secret=SECRET) as server, asyncio.timeout(120):
        path = f"/api/sessions/{await server.session(**as_user('alice'))}/stream"
        for seconds in (2, 20):  # two are too few where the machine stands still for two
            short = as_user("alice", days=seconds / 86_400)
            params = {}
            if how == "ticket":
                given = await server.http.post("/api/tickets", json={"path": path}, headers=short)
                params, short = {"ticket": given.json().get("ticket", "")}, {}
            response = await server.http.get(path, params=params, headers=short)
            if response.status_code == 200:
                break
    assert response.status_code == 200  # and it came to its end


async def rest(reader):
    """What comes until it is hung up on; a machine that stood still writes after that."""
    with suppress(ConnectionError):
        return await reader.read()
    return b""


async def test_a_head_that_is_never_finished_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(head_deadline, "WITHIN", 0.05)

    async def app(scope, receive, send):
        await asyncio.sleep(0.2)  # longer than a head may take: the answer may
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"Hello."})

    config = uvicorn.Config(app, lifespan="off")
    config.load()

    state = ServerState()

    def protocol():
        return head_deadline.HeadDeadline(config, state, {})

    async def look():
        while True:
            head_deadline.close_overdue(state.connections)
            await asyncio.sleep(0.01)

    listening = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    async with listening, asyncio.timeout(60), asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        address = listening.sockets[0].getsockname()
        for half in (b"", b"GET / HTTP/1.1\r\nho", b"GET / HTTP/1.1\r\nhost: x\r\n"):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(half)
            assert await rest(reader) == b""
            writer.close()
        head = b""
        while not head:  # where the machine stands still for so long, it is hung up on as well
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                head = await reader.readuntil(b"\r\n\r\n")
        assert b"200 OK" in head
        await reader.readuntil(b"Hello.")
        writer.write(b"GET / HTTP/1.1\r\n")  # the next one, on the same connection
        await rest(reader)
        writer.close()
        looking.cancel()


# what is over


async def test_an_archived_session_takes_no_messages():
    async with served(Reply("Hi.")) as server:
        session = (await server.http.post("/api/sessions")).json()["id"]
        path = f"/api/sessions/{session}"
        await server.http.patch(path, json={"archived": True})
        refused = await server.http.post(f"{path}/messages", json={"message": "Hello"})
        assert "archived" in is_problem(refused, 409, "archived")
        assert (await server.http.get(f"{path}/events")).json()["events"] == []
        await server.http.patch(path, json={"archived": False})
        accepted = await server.http.post(f"{path}/messages", json={"message": "Hello"})
        assert accepted.status_code == 202


# how much at once

ALICE = as_user("alice")


async def test_a_user_has_so_many_streams_open_and_nobody_else_is_held_up():
    async with office(secret=SECRET, connections_at_once=2) as desk:
        session = (await desk.http.post("/api/sessions", headers=ALICE)).json()["id"]
        path = f"/api/sessions/{session}/stream"
        async with (
            desk.http.stream("GET", path, headers=ALICE) as first,
            desk.http.stream("GET", path, headers=ALICE) as second,
        ):
            assert (first.status_code, second.status_code) == (200, 200)
            third = await desk.http.get(path, headers=ALICE)
            other = await desk.http.get("/api/sessions", headers=as_user("bob"))

        async def is_counted_no_more():
            return (await desk.http.get("/api/sessions", headers=ALICE)).status_code == 200

        await desk.until(is_counted_no_more)
    assert "You have 2 connections open" in is_problem(third, 429, "too_many")
    assert other.status_code == 200


async def test_a_socket_is_one_of_them():
    alice = {"auth": {"token": ALICE["authorization"].removeprefix("Bearer ")}}
    async with (
        office(secret=SECRET, connections_at_once=1) as desk,
        serve_sockets(desk.app) as url,
    ):
        async with tab(url, **alice):
            refused = await desk.http.get("/api/sessions", headers=ALICE)
            with pytest.raises(socketio.exceptions.ConnectionError):
                await socketio.AsyncClient(reconnection=False).connect(url, retry=False, **alice)

        async def is_counted_no_more():
            return (await desk.http.get("/api/sessions", headers=ALICE)).status_code == 200

        await desk.until(is_counted_no_more)
    assert is_problem(refused, 429, "too_many")
