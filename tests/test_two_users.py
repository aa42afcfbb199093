"""Two users, every route, every id: nothing of Alice's reaches Bob, and nothing of hers changes.

The routes come from the table that makes the application: one that is new is tried, too.
"""

import re
from itertools import product

import msgspec
import pytest

from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET, STREAM, as_user, events, is_problem, served
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.tokens import mint
from turnlog.transports.http.routes import ROUTES
from turnlog.transports.socketio import server as sockets

ALICE, BOB, NOBODY = as_user("alice"), as_user("bob"), {}
SECRETS = ("Alice's ducks", "quack-alice", "alice thought", "alice-request", "alice")
ASK = {"message": "Hi"}

OWN = "/api/sessions/{session_id}"
# What Bob tries beside the example of each route, and the parameters in which ids may hide.
# fmt: off
MORE = {
    ("PATCH", OWN):               [{"json": {"archived": True}}, {"json": {}}],
    ("GET",   f"{OWN}/messages"): [{"params": {"before": "3", "limit": "2"}}],
    ("POST",  f"{OWN}/messages"): [{"json": ASK, "headers": STREAM},
                                   {"json": ASK | {"requestId": "alice-request"}}],
    ("GET",   f"{OWN}/stream"):   [{"params": {"after": "0.0"}},
                                   {"headers": {"last-event-id": "0.0"}}],
    ("GET",   f"{OWN}/events"):   [{"params": {"internal": "true"}}, {"params": {"after": "0"}}],
    ("POST",  "/api/approvals/{approval_id}"):       [{"json": {"approved": False}}],
    ("GET",   "/api/billing/sessions/{session_id}"): [{"params": {"format": "csv"}},
                                                      {"headers": {"accept": "text/csv"}}],
}
# The same over Socket.IO: what Bob sends with each event, by the name of the field that is an id.
SENT = {
    "session:join":     [("sessionId", {}), ("sessionId", {"after": "0.0"})],
    "session:leave":    [("sessionId", {})],
    "chat:message":     [("sessionId", ASK), ("sessionId", ASK | {"onBusy": "enqueue"}),
                         ("sessionId", ASK | {"requestId": "alice-request"})],
    "chat:stop":        [("sessionId", {})],
    "approval:respond": [("approvalId", {"approved": True}), ("approvalId", {"approved": False})],
}
# fmt: on


def bearer(user, **claims):
    return {"authorization": f"Bearer {mint(SECRET, user, **claims)}"}


def names(route):
    return re.findall(r"{(\w+)}", route.path)


# A path with an id of a session, or of something in one: not found, whatever is sent.
CROSSED = [route for route in ROUTES if names(route) and "user_id" not in names(route)]
# The id is a user's: these have a test of their own.
OF_USERS = [route for route in ROUTES if "user_id" in names(route)]
# No id: what Bob gets is his own, or the same for everybody.
SHARED = [route for route in ROUTES if not names(route)]


def test_every_route_is_tried():
    assert sorted([*CROSSED, *OF_USERS, *SHARED]) == sorted(ROUTES)
    assert MORE.keys() <= {(route.method, route.path) for route in CROSSED}
    assert [route.path for route in OF_USERS] == ["/api/billing/user/{user_id}"]
    assert all(route.who == "user" for route in (*CROSSED, *OF_USERS))


def test_every_socket_event_has_a_row():
    assert sockets.ACTIONS.keys() == SENT.keys()


async def with_a_talk(server):
    """Alice has a session with a thought, a tool and an answer. Its id and all ids in it."""
    made = await server.http.post("/api/sessions", json={"title": SECRETS[0]}, headers=ALICE)
    session = made.json()["id"]
    more = {"requestId": "alice-request", "enableThinking": True}
    shown = events(await server.ask(session, "quack-alice", ALICE | STREAM, **more))
    assert shown[-1]["type"] == "complete"
    names = ("turnId", "messageId", "eventId", "cursor", "toolUseId")
    return session, {event[name] for event in shown for name in names if name in event}


def talk():
    thinking = Reply(Thinking("alice thought"), ToolCall("wait", {}))
    return [thinking, Reply("quack-alice")]


STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
async def crossed(request, tmp_path):
    """The server, Alice's session, her ids, and what is kept of hers."""
    async with served(*talk(), secret=SECRET, store=STORES[request.param](tmp_path)) as server:
        server.go.set()
        session, ids = await with_a_talk(server)
        evidence = await server.app.store.evidence(session)
        yield server, session, ids
        assert await server.app.store.evidence(session) == evidence
        assert server.sim.accepted == 2


async def asked(server, method, path, how, headers):
    given = how | {"headers": how.get("headers", {}) | headers}
    return await server.http.request(method, path, **given)


def filled(path, name):
    """The path with the name wherever an id belongs."""
    return re.sub(r"{\w+}", name, path)


def cases():
    """What Bob asks: the example of every route, and what may be worse."""
    for route in CROSSED:
        example = {} if route.example is None else {"json": route.example}
        for how in (example, *MORE.get((route.method, route.path), ())):
            yield route.method, route.path, how


async def test_whatever_bob_asks_of_alices_session_is_not_found(crossed):
    server, session, _ = crossed
    for method, path, how in cases():
        answers = [
            await asked(server, method, filled(path, name), how, BOB)
            for name in (session, "nowhere")
        ]
        details = [is_problem(answer, 404, "not_found") for answer in answers]
        assert details[0].replace(session, "nowhere") == details[1]
        assert not any(secret in answers[0].text for secret in SECRETS)


async def test_whatever_bob_sends_over_a_socket_says_nothing_of_alices(crossed):
    """The answer is the same as for an id that does not exist, and nothing else is told."""
    server, session, ids = crossed
    token = {"token": mint(SECRET, "bob")}
    async with serve_sockets(server.app) as url, tab(url, auth=token) as bob:
        sent = [(event, name, more) for event, rows in SENT.items() for name, more in rows]
        for (event, name, more), known in product(sent, (session, *ids)):
            answer = await bob.ask(event, {name: known, **more})
            unknown = await bob.ask(event, {name: "nowhere", **more})
            told = msgspec.json.encode(answer).decode()
            assert told.replace(known, "nowhere") == msgspec.json.encode(unknown).decode()
            assert answer["ok"] is (event == "session:leave")
            assert not any(secret in told for secret in SECRETS)
        assert bob.inbox.empty()


async def test_no_other_id_of_alices_opens_anything(crossed):
    server, _, ids = crossed
    for (method, path, how), name in product(cases(), ids):
        answer = await asked(server, method, filled(path, name), how, BOB)
        detail = is_problem(answer, 404, "not_found")
        assert not any(secret in detail for secret in SECRETS)


async def test_an_admin_is_no_exception(crossed):
    """But for the proof, which an auditor may see: tests/transports/test_audit.py."""
    server, session, _ = crossed
    admin = bearer("root", admin=True)
    for method, path, how in cases():
        if path.endswith("/verify") or "internal" in str(how):
            continue
        answer = await asked(server, method, filled(path, session), how, admin)
        is_problem(answer, 404, "not_found")


async def test_alices_bill_is_hers_and_the_admins(crossed):
    server, _, _ = crossed
    path, admin = "/api/billing/user/{}", bearer("root", admin=True)
    for how in ({}, {"params": {"format": "csv"}}, {"headers": {"accept": "text/csv"}}):
        hers, noone = [
            await asked(server, "GET", path.format(name), how, BOB) for name in ("alice", "nobody")
        ]
        detail = is_problem(hers, 404, "not_found")
        assert detail.replace("alice", "nobody") == is_problem(noone, 404, "not_found")
        is_problem(
            await asked(server, "GET", path.format("alice"), how, NOBODY), 401, "unauthorized"
        )
        answers = [await asked(server, "GET", path.format("alice"), how, w) for w in (ALICE, admin)]
        assert answers[0].status_code == 200 and answers[0].text == answers[1].text
    mine = (await server.http.get(path.format("bob"), headers=BOB)).json()
    assert (mine["total_sessions"], mine["total_tokens"], mine["total_cost_usd"]) == (0, 0, 0)


async def test_without_a_token_nothing_is_told(crossed):
    server, session, _ = crossed
    for method, path, how in cases():
        answer = await asked(server, method, filled(path, session), how, NOBODY)
        is_problem(answer, 401, "unauthorized")


async def test_what_is_for_everybody_holds_nothing_of_alices(crossed):
    server, session, ids = crossed
    for route in SHARED:
        answer = await server.http.request(route.method, route.path, headers=BOB)
        told = answer.text
        assert answer.status_code in (200, 201, 400, 403, 405)  # /mcp wants a body, or sessions
        assert not any(secret in told for secret in (*SECRETS, session))
        assert not any(name in told for name in ids if len(name) > 8)


async def test_bob_lists_his_own_sessions_only(crossed):
    server, session, ids = crossed
    mine = await server.session(**BOB)
    found = (await server.http.get("/api/sessions", headers=BOB)).json()["sessions"]
    assert [session["id"] for session in found] == [mine]
    for cursor in (session, *ids):
        answer = await server.http.get("/api/sessions", params={"cursor": cursor}, headers=BOB)
        is_problem(answer, 404, "not_found")


async def test_alices_cursors_in_bobs_session_show_what_is_bobs(crossed):
    """A cursor that fits goes on in his own session; one that does not is refused."""
    server, _, ids = crossed
    mine = await server.session(**BOB)
    cursors = [name for name in ids if "." in name]
    assert cursors
    for cursor in cursors:
        path = f"/api/sessions/{mine}/stream"
        async with server.http.stream(
            "GET", path, params={"after": cursor}, headers=BOB
        ) as response:
            told = await anext(response.aiter_bytes())
            assert b"resync_required" in told
            assert not any(secret.encode() in told for secret in SECRETS)


async def test_alices_request_id_is_bobs_to_use():
    entries = [*talk(), Reply("For Bob.")]
    async with served(*entries, secret=SECRET) as server:
        server.go.set()
        _, ids = await with_a_talk(server)
        mine = await server.session(**BOB)
        answer = await server.ask(mine, "Hi", BOB | STREAM, requestId="alice-request")
        shown = events(answer)
        assert shown[-2]["content"] == "For Bob."
        assert not {event["turnId"] for event in shown} & ids
        assert not any(secret in msgspec.json.encode(shown).decode() for secret in SECRETS)
