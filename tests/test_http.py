"""HTTP: every answer is what was asked for or a problem document, and nothing is half done."""

import asyncio
import json
import time

import jwt
import pytest

from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET, STREAM, as_user, events, is_problem, served

# what works


async def test_a_session_is_created():
    async with served() as server:
        response = await server.http.post(
            "/api/sessions", json={"title": "Ducks", "agent": "other"}
        )
        assert response.status_code == 201
        created = response.json()
        assert created.keys() >= {"id", "title", "agent", "createdAt", "archived", "thinking"}
        assert (created["title"], created["agent"]) == ("Ducks", "other")


async def test_the_answer_streams():
    async with served(Reply("Hello you.")) as server:
        response = await server.ask(await server.session(), headers=STREAM)
        assert response.headers["content-type"].startswith("text/event-stream")
        types = [event["type"] for event in events(response)]
        assert (types[0], types[-2:]) == ("user_message_sent", ["message", "complete"])


async def test_large_answers_are_packed_and_streams_are_not():
    packs = {"accept-encoding": "gzip"}
    async with served(Reply("Hello you. " * 500)) as server:
        session = await server.session()
        streamed = await server.ask(session, headers=STREAM | packs)
        assert "content-encoding" not in streamed.headers
        assert events(streamed)[-1]["type"] == "complete"
        reload = await server.http.get(f"/api/sessions/{session}/messages", headers=packs)
        assert reload.headers["content-encoding"] == "gzip"
        plain = {"accept-encoding": "identity"}
        reload = await server.http.get(f"/api/sessions/{session}/messages", headers=plain)
        assert "content-encoding" not in reload.headers
        assert reload.headers["vary"] == "Accept-Encoding"  # or a cache gives it to everybody


async def test_the_id_of_a_frame_is_the_cursor_of_its_event():
    async with served(Reply("Hello you.")) as server:
        response = await server.ask(await server.session(), headers=STREAM)
        ids = [line[4:] for line in response.text.splitlines() if line.startswith("id: ")]
        assert ids == [event["cursor"] for event in events(response)]


async def test_without_a_stream_the_turn_goes_on_by_itself():
    async with served(Reply("Hello you.")) as server:
        session = await server.session()
        response = await server.ask(session)
        assert (response.status_code, response.json().keys()) == (202, {"turnId"})
        await server.ended()
        assert [event.type for event in await server.kept(session)][-1] == "message"


async def test_a_client_that_hangs_up_does_not_stop_the_turn():
    async with served(Reply(ToolCall("wait")), Reply("Done.")) as server:
        session = await server.session()
        path = f"/api/sessions/{session}/messages"
        async with server.http.stream("POST", path, json={"message": "Hi"}, headers=STREAM) as half:
            assert b"user_message_sent" in await anext(half.aiter_bytes())
        server.go.set()
        await server.ended()
        assert (await server.kept(session))[-1].content == "Done."


async def test_a_request_that_is_sent_again_runs_nothing_twice():
    async with served(Reply(ToolCall("wait")), Reply("Done.")) as server:
        session = await server.session()
        first, second = await asyncio.gather(*(server.ask(session, requestId="r") for _ in "ab"))
        assert first.json() == second.json()
        server.go.set()
        await server.ended()
        again = events(await server.ask(session, requestId="r", headers=STREAM))
        assert {event["turnId"] for event in again} == {first.json()["turnId"]}
        assert again[-1]["type"] == "complete"
        assert server.sim.accepted == 2
        assert len(await server.kept(session)) == 5


def ids(shown):
    lasting = [event for event in shown if not event["type"].endswith("_chunk")]
    return [(event["type"], event["eventId"], event["cursor"]) for event in lasting]


async def test_a_turn_that_is_over_is_sent_again_with_the_same_ids():
    async with served(Reply("Hello you.")) as server:
        session = await server.session()
        live = events(await server.ask(session, requestId="r", headers=STREAM))
        server.app.bus.channels.clear()  # as after a restart
        again = events(await server.ask(session, requestId="r", headers=STREAM))
        assert ids(again) == ids(live)
        assert [name for name, _, _ in ids(live)][-1] == "complete"


async def test_a_second_question_waits_for_the_first_answer():
    async with served(Reply(ToolCall("wait")), Reply("Done."), Reply("Yes?")) as server:
        session = await server.session()
        await server.ask(session)
        busy = await server.ask(session)
        is_problem(busy, 409, "busy")
        assert '"onBusy": "enqueue"' in busy.json()["detail"]
        server.go.set()
        await server.ended()
        assert (await server.ask(session)).status_code == 202


async def test_the_front_page_and_the_health_check_answer(monkeypatch):
    monkeypatch.setattr("turnlog.transports.http.site.built", dict)  # no web UI
    async with served() as server:
        assert "turnlog runs" in (await server.http.get("/")).text
        assert (await server.http.get("/healthz")).json() == {"status": "ok"}


@pytest.mark.parametrize("most", [200_000, 1_500_000])
async def test_the_longest_question_is_taken_however_its_json_is_escaped(most):
    async with served(Reply("Long."), max_characters=most) as server:
        session = await server.session()
        body = json.dumps({"message": "😀" * most})
        assert len(body) > 12 * most  # as `json.dumps` escapes them
        path = f"/api/sessions/{session}/messages"
        response = await server.http.post(path, content=body, headers=JSON | STREAM)
        assert events(response)[0]["content"] == "😀" * most


# what does not

JSON = {"content-type": "application/json"}
BAD = {
    "no body": (b"", 400, "bad_input"),
    "no JSON": (b"{oops", 400, "bad_input"),
    "no text": (b'{"message": "\xff"}', 400, "bad_input"),
    "half a character": (b'{"message": "\\ud800"}', 400, "bad_input"),
    "no object": (b"[]", 400, "bad_input"),
    "a pit of brackets": (b'{"message": ' + b"[" * 100_000, 400, "bad_input"),
    "no message": (b"{}", 400, "bad_input"),
    "an empty message": (b'{"message": ""}', 400, "bad_input"),
    "a blank message": (b'{"message": " \\n"}', 400, "bad_input"),
    "a NUL": (b'{"message": "a\\u0000b"}', 400, "bad_input"),
    "an empty id": (b'{"message": "Hi", "requestId": ""}', 400, "bad_input"),
    "a NUL in the id": (b'{"message": "Hi", "requestId": "a\\u0000b"}', 400, "bad_input"),
    "half a character in the id": (
        b'{"message": "Hi", "requestId": "\\udfff"}',
        400,
        "bad_input",
    ),
    "a number": (b'{"message": 5}', 400, "bad_input"),
    "an unknown field": (b'{"message": "Hi", "user_id": "bob"}', 400, "bad_input"),
    "a small budget": (b'{"message": "Hi", "thinkingBudget": 999}', 400, "bad_input"),
    "a big budget": (b'{"message": "Hi", "thinkingBudget": 100001}', 400, "bad_input"),
    "a file of nobody": (b'{"message": "Hi", "fileIds": ["f"]}', 404, "not_found"),
    "too many characters": (b'{"message": "%s"}' % (b"a" * 200_001), 413, "too_large"),
    "too many bytes": (b'{"message": "%s"}' % (b"a" * 1_000_000), 413, "too_large"),
}


@pytest.mark.parametrize(("body", "status", "code"), BAD.values(), ids=BAD)
async def test_a_bad_question_is_a_problem_and_leaves_no_trace(body, status, code):
    async with served() as server:
        session = await server.session()
        path = f"/api/sessions/{session}/messages"
        for headers in (JSON, JSON | STREAM):
            is_problem(await server.http.post(path, content=body, headers=headers), status, code)
        evidence = await server.app.store.evidence(session)
        assert (evidence.log, evidence.running, server.sim.accepted) == ([], [], 0)
        assert server.app._turns._live == {}


NO_SESSION = [b"[]", b'{"title": 5}', b'{"agent": "nobody"}', b'{"id": "mine"}']
BAD_TITLES = [b'{"title": "%s"}' % bad for bad in (b"a" * 201, b"a\\u0000b", b"\\ud800", b"\xff")]


@pytest.mark.parametrize("body", [*NO_SESSION, *BAD_TITLES])
async def test_a_bad_session_is_not_created(body):
    async with served() as server:
        is_problem(await server.http.post("/api/sessions", content=body), 400, "bad_input")
        assert await server.app.store.session_ids() == []


@pytest.mark.parametrize("session", ["nowhere", "%00", "a%2Fb", "..", "💥"])
async def test_an_unknown_session_is_not_found(session):
    async with served() as server:
        response = await server.ask(session)
        is_problem(response, 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/nothing", 404), ("PUT", "/api/sessions", 405), ("POST", "/", 405)],
)
async def test_what_the_server_does_not_answer_is_a_problem(method, path, status):
    async with served() as server:
        code = {404: "not_found", 405: "method_not_allowed"}[status]
        is_problem(await server.http.request(method, path), status, code)


async def test_a_wrong_method_is_told_the_right_one():
    async with served() as server:
        refused = await server.http.put("/api/sessions")
        assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
        assert refused.json()["detail"].endswith("Here it answers GET, HEAD, POST.")


async def test_a_body_that_is_nested_too_deep_is_no_bug():
    deep = b'{"approved": true, "args": {"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}"
    async with served() as server:
        response = await server.http.post("/api/approvals/appr_x", content=deep)
        assert "deep" in is_problem(response, 400, "bad_input")


async def test_a_bug_is_told_without_its_details():
    class Broken(MemoryStore):  # no real store fails in a way that can be asked for
        async def create_session(self, session):
            raise OSError("/secret/path is full")

    async with served(store=Broken()) as server:
        response = await server.http.post("/api/sessions")
        assert "secret" not in is_problem(response, 500, "internal_error")


# who asks


def token(secret=SECRET, algorithm="HS256", **claims):
    claims = {"sub": "alice", "exp": time.time() + 3600} | claims
    stated = {name: value for name, value in claims.items() if value is not None}
    return "Bearer " + jwt.encode(stated, secret, algorithm=algorithm)


NOBODY = {
    "no token": None,
    "another scheme": "Basic YWxpY2U6cHc=",
    "an empty token": "Bearer",
    "not a token": "Bearer abc.def.ghi",
    "an expired token": token(exp=time.time() - 60),
    "a token of another secret": token("another secret of more than 32 characters"),
    "a token without a signature": token(None, "none"),
    "a token of another algorithm": token(SECRET * 2, "HS512"),
    "a token that never expires": token(exp=None),
    "a token for nobody": token(sub=None),
    "a token for a number": token(sub=5),
}


@pytest.mark.parametrize("header", NOBODY.values(), ids=NOBODY)
async def test_nobody_gets_in_without_a_token_that_holds(header):
    async with served(secret=SECRET) as server:
        headers = {} if header is None else {"authorization": header}
        response = await server.http.post("/api/sessions", headers=headers)
        is_problem(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
        is_problem(await server.ask("any", headers=headers), 401, "unauthorized")
        assert await server.app.store.session_ids() == []


async def test_a_token_says_whose_session_it_is():
    async with served(Reply("Hello."), secret=SECRET) as server:
        session = await server.session(**as_user("alice"))
        assert (await server.ask(session, headers=as_user("alice"))).status_code == 202
        await server.ended()
        assert (await server.app.store.get_session("alice", session)).user_id == "alice"


async def test_someone_elses_session_looks_like_an_unknown_one():
    async with served(secret=SECRET) as server:
        session = await server.session(**as_user("alice"))
        foreign = await server.ask(session, headers=as_user("bob"))
        unknown = await server.ask("nowhere", headers=as_user("bob"))
        detail = is_problem(foreign, 404, "not_found")
        assert detail.replace(session, "nowhere") == is_problem(unknown, 404, "not_found")
        assert await server.kept(session) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "["},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
    ],
)
async def test_without_tokens_pages_of_other_sites_are_refused(headers):
    async with served() as server:
        response = await server.http.post("/api/sessions", headers=headers)
        is_problem(response, 403, "foreign_origin")
        assert await server.app.store.session_ids() == []


async def test_a_page_of_another_local_port_is_told_the_setting():
    async with served() as server:
        page = {"origin": "http://localhost:5173"}
        told = is_problem(
            await server.http.get("/api/sessions", headers=page), 403, "foreign_origin"
        )
        assert "TURNLOG_CORS_ORIGINS=http://localhost:5173" in told
        for odd in ({"origin": "null"}, {"origin": "x" * 500}, {"host": "evil.example"}):
            refused = await server.http.get("/api/sessions", headers=odd)
            assert "CORS" not in is_problem(refused, 403, "foreign_origin")
