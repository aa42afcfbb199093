"""Agents as tools of `/mcp`, asked by the official client, in both of the protocol's ages."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
import mcp_types as m
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from turnlog import Agent, Settings, create_app
from turnlog.errors import ConfigError
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET, as_user, is_problem, served
from turnlog.testing.office import office
from turnlog.tokens import mint
from turnlog.transports.mcp import sessions
from turnlog.transports.mcp.agents import AgentTools
from turnlog.transports.mcp.server import KEY_META

AGES = pytest.mark.parametrize("mode", ["auto", "legacy"])
PAY = [Reply("Sure. ", ToolCall("pay", {"amount": 3})), Reply("Done.")]
ALLOW = m.ElicitResult(action="accept", content={"approved": True})
REJECT = m.ElicitResult(action="accept", content={"approved": False, "reason": "Too much"})
DECLINE = m.ElicitResult(action="decline")
CANCEL = m.ElicitResult(action="cancel")


@asynccontextmanager
async def client(server, mode="auto", user=None, answer=None, **token):
    """`answer`: of the person behind the client; None: it can ask nobody."""
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        return await answer(params) if callable(answer) else answer

    url = str(server.http.base_url).rstrip("/")
    headers = {"authorization": f"Bearer {mint(SECRET, user, **token)}"} if user else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(f"{url}/mcp", http_client=http),
            mode=mode,
            elicitation_callback=elicit if answer else None,
        ) as made,
    ):
        made.asked = asked
        yield made


def bureau(*script, **options):
    return office(*script, mcp_agents="clerk", **options)


@AGES
async def test_a_call_is_a_turn_of_a_real_session_and_the_next_goes_on_in_it(mode):
    script = (Reply("Hello."), Reply("Again."))
    async with bureau(*script) as server, client(server, mode) as mcp:
        told = []

        async def hear(progress, total, message):
            told.append((progress, message))

        one = await mcp.call_tool("ask_clerk", {"message": "Hi"}, progress_callback=hear)
        facts = one.structured_content
        assert (one.content[0].text, facts["status"], facts["text"]) == (
            "Hello.", "completed", "Hello."
        )  # fmt: skip
        numbers = [progress for progress, _ in told]
        assert numbers == sorted(set(numbers)) and "".join(text for _, text in told) == "Hello."
        more = {"message": "More", "session": facts["session"]}
        assert (await mcp.call_tool("ask_clerk", more)).content[0].text == "Again."
        kept = await server.kept(facts["session"])
        assert [event.type for event in kept] == ["user_message_sent", "message"] * 2


@AGES
@pytest.mark.parametrize(
    ("answer", "paid"), [(ALLOW, [("Bob", 3)]), (REJECT, []), (DECLINE, [])], ids=["yes", "no", "x"]
)
async def test_an_approval_is_asked_for_by_elicitation(mode, answer, paid):
    async with bureau(*PAY) as server, client(server, mode, answer=answer) as mcp:
        result = await mcp.call_tool("ask_clerk", {"message": "Pay"})
        assert mcp.asked == ["Pay 3 to Bob"]
        assert server.world.paid == paid
        assert result.structured_content["status"] == "completed"
        assert result.structured_content["text"].endswith("Done.")
        (decided,) = await server.pending(status="approved" if paid else "rejected")
        assert decided["reason"] == (answer.content or {}).get("reason")


@AGES
@pytest.mark.parametrize("answer", [CANCEL, None], ids=["cancelled", "nobody"])
async def test_where_nobody_decides_the_call_says_what_it_waits_for(mode, answer):
    async with bureau(*PAY) as server, client(server, mode, answer=answer) as mcp:
        result = await mcp.call_tool("ask_clerk", {"message": "Pay"})
        facts = result.structured_content
        (approval,) = facts["approvals"]
        assert (facts["status"], approval["args"]) == ("waiting", {"amount": 3})
        assert f"/api/approvals/{approval['id']}" in result.content[0].text
        assert server.world.paid == []
        await server.answer(approval)
        again = await mcp.call_tool("ask_clerk", {"session": facts["session"]})
        assert again.structured_content["status"] == "completed"
        assert server.world.paid == [("Bob", 3)]


async def test_who_decides_elsewhere_ends_the_question():
    async with bureau(*PAY) as server:
        elsewhere = asyncio.Event()

        async def never(params):
            (approval,) = await server.pending()
            await server.answer(approval)
            elsewhere.set()
            await asyncio.Event().wait()

        async with client(server, "legacy", answer=never) as mcp:
            result = await mcp.call_tool("ask_clerk", {"message": "Pay"})
        assert elsewhere.is_set() and result.structured_content["status"] == "completed"
        assert server.world.paid == [("Bob", 3)]


@AGES
async def test_what_a_role_decides_is_decided_with_the_tokens_roles(mode):
    options = {"secret": SECRET, "approver": "role:boss"}
    async with bureau(PAY[0], *PAY, **options) as server:
        async with client(server, mode, "alice", ALLOW) as mcp:
            result = await mcp.call_tool("ask_clerk", {"message": "Pay"})
            assert (result.structured_content["status"], mcp.asked) == ("waiting", [])
        async with client(server, mode, "alice", ALLOW, roles=["boss"]) as mcp:
            await mcp.call_tool("ask_clerk", {"message": "Pay"})
            assert (mcp.asked, server.world.paid) == (["Pay 3 to Bob"], [("Bob", 3)])


@AGES
async def test_a_call_that_is_taken_back_stops_its_turn(mode):
    async with served(Reply("Before. ", ToolCall("wait")), mcp_agents="waiter") as server:
        async with client(server, mode) as mcp:
            begun = asyncio.Event()

            async def hear(progress, total, message):
                if "wait" in message:
                    begun.set()

            asking = {"message": "Go"}
            call = asyncio.create_task(mcp.call_tool("ask_waiter", asking, progress_callback=hear))
            await begun.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while server.app._turns._live.tasks:
                await asyncio.sleep(0.01)
        (session,) = (await server.http.get("/api/sessions")).json()["sessions"]
        events = await server.http.get(f"/api/sessions/{session['id']}/messages")
        assert "Before. " in events.text and "cancelled" in events.text


@AGES
async def test_a_call_that_is_taken_back_while_its_question_is_written_stops_its_turn(
    mode, monkeypatch
):
    async with served(Reply("Before. ", ToolCall("wait")), mcp_agents="waiter") as server:
        turns, begin = server.app._turns, server.app.store.begin_turn
        writes, taken_back, later = asyncio.Event(), asyncio.Event(), AgentTools._later

        async def slowly(*args):
            writes.set()
            await taken_back.wait()
            return await begin(*args)

        def noted(*args):
            taken_back.set()
            later(*args)

        monkeypatch.setattr(server.app.store, "begin_turn", slowly)
        monkeypatch.setattr(AgentTools, "_later", noted)
        async with client(server, mode) as mcp:
            call = asyncio.create_task(mcp.call_tool("ask_waiter", {"message": "Go"}))
            await writes.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await taken_back.wait()
            await turns.all_at_rest()
        (session,) = (await server.http.get("/api/sessions")).json()["sessions"]
        events = await server.http.get(f"/api/sessions/{session['id']}/messages")
        assert "cancelled" in events.text
        assert not turns._limits._running


async def test_the_same_key_asks_once_in_a_session():
    async with bureau(Reply("Hello."), Reply("Once.")) as server, client(server) as mcp:
        first = await mcp.call_tool("ask_clerk", {"message": "Hi"})
        more = {"message": "More", "session": first.structured_content["session"]}
        answers = [await mcp.call_tool("ask_clerk", more, meta={KEY_META: "k"}) for _ in range(2)]
        assert [answer.content[0].text for answer in answers] == ["Once.", "Once."]


@AGES
async def test_bob_reaches_nothing_of_alices(mode):
    async with bureau(*PAY, Reply("For Bob."), secret=SECRET) as server:
        async with client(server, mode, "alice") as alice:
            asked = await alice.call_tool("ask_clerk", {"message": "Pay"})
        facts = asked.structured_content
        first = f"{facts['session']}_0"
        async with client(server, mode, "bob", ALLOW) as bob:
            for arguments in ({}, {"message": "Tell me"}):
                own = {"session": facts["session"], **arguments}
                refused = await bob.call_tool("ask_clerk", own)
                assert refused.is_error and "There is no session" in refused.content[0].text
            if mode == "auto":
                yes = {facts["approvals"][0]["id"]: ALLOW}
                refused = await bob.session.call_tool(
                    "ask_clerk", {}, input_responses=yes, request_state=first
                )
                assert refused.is_error and "There is no such turn" in refused.content[0].text
        assert server.world.paid == []


async def test_an_answer_counts_only_in_the_session_that_asked():
    async with bureau(PAY[0], PAY[0]) as server, client(server) as mcp:
        one, two = [
            (await mcp.call_tool("ask_clerk", {"message": "Pay"})).structured_content
            for _ in range(2)
        ]
        yes = {two["approvals"][0]["id"]: ALLOW}
        state = f"{one['session']}_0"
        refused = await mcp.session.call_tool(
            "ask_clerk", {}, input_responses=yes, request_state=state
        )
        assert refused.is_error and server.world.paid == []
        for forged in (
            "",
            "_",
            "x_0",
            f"{one['session']}_1",
            f"{one['session']}_99999999999999999999",
        ):
            refused = await mcp.session.call_tool(
                "ask_clerk", {}, input_responses=yes, request_state=forged
            )
            assert refused.is_error, forged


START = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


async def test_a_client_whose_stream_broke_gets_the_rest_and_nobody_else_does():
    async with served(
        Reply("Before. ", ToolCall("wait")), Reply("After."), secret=SECRET, mcp_agents="waiter"
    ) as server:
        alice, bob = as_user("alice") | ACCEPT, as_user("bob") | ACCEPT
        made = [await server.http.post("/mcp", json=START, headers=h) for h in (alice, bob, alice)]
        ours, bobs, other = [{"mcp-session-id": m.headers["mcp-session-id"]} for m in made]
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "ask_waiter", "arguments": {"message": "Go"}}}  # fmt: skip
        stream = server.http.stream("POST", "/mcp", json=call, headers=alice | ours)
        async with stream as response:
            lines = (line async for line in response.aiter_lines())
            next_id = await anext(line async for line in lines if line.startswith("id: "))
        place = {"last-event-id": next_id.removeprefix("id: ")}
        server.go.set()
        for headers in (bob | bobs, alice | other):
            nothing = await server.http.get("/mcp", headers=headers | place)
            assert (nothing.status_code, nothing.text) == (200, "")
        async with server.http.stream("GET", "/mcp", headers=alice | ours | place) as response:
            found = ""
            async for line in response.aiter_lines():
                found += line
                if "After." in line:
                    break
        assert "Before." in found


async def test_an_mcp_session_is_its_users_and_a_user_has_a_limited_number(monkeypatch):
    monkeypatch.setattr(sessions, "MOST", 3)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with bureau(secret=SECRET) as server:

        async def post(user, body, **headers):
            sent = as_user(user) | ACCEPT | headers
            return await server.http.post("/mcp", json=body, headers=sent)

        made = await post("alice", START)
        own = {"mcp-session-id": made.headers["mcp-session-id"]}
        assert (await post("alice", ping, **own)).status_code == 200
        assert (await post("bob", ping, **own)).status_code == 404
        watched = await server.http.get("/mcp", headers=as_user("bob") | ACCEPT | own)
        assert watched.status_code == 404
        others = {"mcp-session-id": (await post("bob", START)).headers["mcp-session-id"]}
        for _ in range(sessions.MOST):  # the first of them makes room
            newest = await post("alice", START)
            assert newest.status_code == 200
        assert (await post("alice", ping, **own)).status_code == 404
        assert (await post("bob", ping, **others)).status_code == 200
        own = {"mcp-session-id": newest.headers["mcp-session-id"]}
        ended = await server.http.delete("/mcp", headers=as_user("alice") | own)
        assert ended.status_code == 200
        assert (await post("alice", ping, **own)).status_code == 404


async def test_agents_are_offered_where_somebody_wants_it_and_to_those_who_may():
    async with office() as server, client(server) as mcp:
        assert "ask_clerk" not in [tool.name for tool in (await mcp.list_tools()).tools]
        with pytest.raises(MCPError, match="There is no tool 'ask_clerk'"):
            await mcp.call_tool("ask_clerk", {"message": "Hi"})
    async with bureau() as server:
        headers = {"authorization": f"Bearer {server.app._door.mint('local')}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"accept": "application/json, text/event-stream"}
        inside = await server.http.post("/mcp", json=body, headers=headers | accept)
        assert "list_tasks" in inside.text and "ask_clerk" not in inside.text
    for wrong in ("clark", "clerk, nobody"):
        with pytest.raises(ConfigError, match="is no agent of: clerk"):
            create_app([Agent("clerk")], settings=Settings(mcp_agents=wrong), store=MemoryStore())


async def test_a_body_that_is_no_json_is_a_problem_and_nothing_begins():
    async with bureau() as server:
        accept = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        for body, status in ((b"{", 400), (b"[]", 400), (b"x" * 1_100_000, 413)):
            answer = await server.http.post("/mcp", content=body, headers=accept)
            assert answer.status_code == status
        is_problem(
            await server.http.post("/mcp", headers={"origin": "https://evil.example"}),
            403, "foreign_origin",
        )  # fmt: skip
        assert (await server.http.get("/api/sessions")).json()["sessions"] == []
