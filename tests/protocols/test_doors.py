"""The same session through every door: written through one, read through another, all pairs."""

from itertools import product

import pytest
from protocols.doors import (
    READERS,
    TEAM,
    WRITERS,
    handed_over,
    open_doors,
    paid,
    read_agui,
    read_http,
    script,
    write_http,
)

from turnlog.testing.apps import SECRET, as_user, is_problem
from turnlog.transports.protocols import carries
from turnlog.transports.protocols import story as s


@pytest.mark.parametrize("writer", WRITERS)
async def test_written_through_one_door_and_read_through_every_other(writer):
    async with open_doors(*script()) as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        await WRITERS[writer](http, session)
        await app.rest()
        assert (await seen_alike(http, session))["speakers"] == ["clerk", "clerk"]


@pytest.mark.parametrize("engine", ["claude", "langgraph", "openai_agents"])
@pytest.mark.parametrize("writer", WRITERS)
async def test_two_agents_of_any_engine_are_read_alike_through_every_door(writer, engine):
    async with open_doors(*handed_over(), agents=TEAM) as (app, http):
        made = await http.post("/api/sessions", json={"engine": engine})
        session = made.json()["id"]
        await WRITERS[writer](http, session)
        await app.rest()
        assert (await seen_alike(http, session))["speakers"] == ["front", "clerk", "clerk"]


async def seen_alike(http, session):
    """What every door shows of the session that was written."""
    assert paid == [3]
    own = await read_http(http, session)
    assert own["asked"] == ["Pay"]
    assert [len(own[name]) for name in ("calls", "approvals", "citations")] == [1, 1, 1]
    for reader in READERS.values():
        seen = await reader(http, session)
        assert seen == {name: own[name] for name in seen}
    return own


@pytest.mark.parametrize("reader", READERS)
async def test_bob_reads_nothing_of_alices_through_any_door(reader):
    async with open_doors(*script(), auth_secret=SECRET) as (app, http):
        made = await http.post("/api/sessions", headers=as_user("alice"))
        session = made.json()["id"]
        http.headers.update(as_user("alice"))
        await write_http(http, session)
        await app.rest()
        assert (await READERS[reader](http, session))["asked"] == ["Pay"]
        http.headers.update(as_user("bob"))
        if reader == "agui":  # the name is Bob's own there, and leads to a session of his
            assert (await read_agui(http, session))["said"] == []
            return
        with pytest.raises((KeyError, TypeError, AssertionError)):
            await READERS[reader](http, session)


@pytest.mark.parametrize(("writer", "user"), list(product(WRITERS, ["bob", None])))
async def test_nobody_writes_into_alices_session_through_any_door(writer, user):
    async with open_doors(*script(), auth_secret=SECRET) as (app, http):
        made = await http.post("/api/sessions", headers=as_user("alice"))
        session = made.json()["id"]
        http.headers.update(as_user(user) if user else {})
        refused = await http.post(f"/api/sessions/{session}/messages", json={"message": "Pay"})
        is_problem(refused, *((404, "not_found") if user else (401, "unauthorized")))
        names_are_ones_own = user and writer in ("agui", "openai")
        if writer != "http" and not names_are_ones_own:
            with pytest.raises((KeyError, AssertionError, ValueError, TypeError)):
                await WRITERS[writer](http, session)
        assert (await app.store.evidence(session)).log == []
        assert paid == []


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "http"])
async def test_what_a_role_decides_is_decided_with_the_roles_of_the_token(writer):
    options = {"auth_secret": SECRET, "approver": "role:boss"}
    async with open_doors(script()[0], *script(), **options) as (app, http):
        for roles, amounts in (([], []), (["boss"], [3])):
            http.headers.update(as_user("alice", roles=roles))
            session = (await http.post("/api/sessions")).json()["id"]
            try:
                await WRITERS[writer](http, session)
            except (AssertionError, KeyError, ValueError):
                assert not roles
            await app.rest()
            assert paid == amounts


@pytest.mark.parametrize("writer", [name for name in WRITERS if name != "http"])
async def test_an_approval_of_another_session_is_not_found_through_any_door(writer):
    async with open_doors(script()[0], script()[0]) as (app, http):
        sessions = [(await http.post("/api/sessions")).json()["id"] for _ in range(2)]
        for session in sessions:
            await http.post(f"/api/sessions/{session}/messages", json={"message": "Pay"})
            await app.rest()
        events = (await http.get(f"/api/sessions/{sessions[0]}/messages")).json()["events"]
        (name,) = [e["approvalId"] for e in events if e["type"] == "approval_requested"]
        session = sessions[1]
        part = {"state": "approval-responded", "approval": {"id": name, "approved": True}}
        entry = {"interruptId": name, "status": "resolved", "payload": {"approved": True}}
        reply = {"type": "mcp_approval_response", "approve": True, "approval_request_id": name}
        action = {"type": "turnlog.decide", "payload": {"approvalId": name, "approved": True}}
        path, body = {
            "ui": (f"/api/sessions/{session}/ui-stream",
                   {"messages": [{"role": "assistant", "parts": [part]}]}),
            "agui": ("/agui", {"threadId": session, "runId": "r", "resume": [entry]}),
            "openai": ("/v1/responses", {"input": [reply], "conversation": session}),
            "chatkit": ("/chatkit", {"type": "threads.custom_action", "params": {
                "thread_id": session, "item_id": name, "action": action}}),
        }[writer]  # fmt: skip
        answer = await http.post(path, json=body)
        assert answer.status_code == 404 or "There is no" in answer.text, answer.text
        assert paid == []


async def test_broken_and_huge_bodies_and_forged_ids_are_refused_at_every_door():
    async with open_doors() as (app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        paths = [f"/api/sessions/{session}/ui-stream", "/agui", "/v1/responses",
                 "/v1/chat/completions", "/chatkit"]  # fmt: skip
        for path in paths:
            for broken in (b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000):
                answer = await http.post(path, content=broken)
                assert answer.status_code == 400, (path, broken[:3], answer.text)
            huge = b'{"input": "' + b"x" * 16_000_001 + b'"}'
            assert (await http.post(path, content=huge)).status_code == 413, path
        numbers = ("0", "-1", "9" * 400, "٣", "")
        ours = [f"resp_{session}_{number}" for number in numbers]
        for forged in ("x", "resp_", "resp__", "resp_%00_1", *ours):
            for method, tail in (("GET", ""), ("POST", "/cancel")):
                answer = await http.request(method, f"/v1/responses/{forged}{tail}")
                assert answer.status_code == 404, forged
        assert (await app.store.evidence(session)).log == []


def test_every_protocol_has_a_cell_for_every_step_and_every_note_is_needed():
    tables = carries.tables()
    inner = {s.Step, s.Part, s.Began, s.TextBegan, s.ThoughtBegan, s.Said}
    steps = {
        kind for kind in vars(s).values() if isinstance(kind, type) and issubclass(kind, s.Step)
    }
    assert carries.ROWS.keys() == steps - inner
    assert {name for name, _ in carries.NOTES} <= tables.keys()
    lines = carries.page()
    assert len(lines) == len(carries.ROWS) + 2 and len({line.count("|") for line in lines}) == 1


ODD = [["x"], [1], [None], [{"type": "text"}], [{"type": "text", "text": 5}], [{"text": []}]]


@pytest.mark.parametrize("parts", ODD, ids=str)
async def test_a_body_of_another_form_is_the_clients_mistake(parts):
    async with open_doors() as (_app, http):
        session = (await http.post("/api/sessions")).json()["id"]
        message = {"role": "user", "parts": parts, "content": parts}
        for path, body in [
            (f"/api/sessions/{session}/ui-stream", {"messages": [message]}),
            (f"/api/sessions/{session}/ui-stream", {"messages": [message | {"role": "assistant"}]}),
            ("/agui", {"threadId": "t", "runId": "r", "messages": [message]}),
            ("/v1/responses", {"input": [message]}),
            ("/v1/chat/completions", {"messages": [message]}),
            ("/chatkit", {"type": "threads.create", "params": {"input": message}}),
        ]:
            answer = await http.post(path, json=body)
            assert (answer.status_code, "detail" in answer.json()) == (400, True), path
