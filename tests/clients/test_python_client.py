"""`turnlog.client`, with and without asyncio, over connections that break."""

import asyncio

import pytest
from cutting_proxy import cutting_proxy

from turnlog.client import AsyncClient, Client, ServerError
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import invariants
from turnlog.testing.apps import SECRET, served
from turnlog.testing.office import office
from turnlog.tokens import mint

STORY = " ".join(str(n) for n in range(300))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Tests do not wait between tries."""
    monkeypatch.setattr("turnlog.client.asking.LONGEST_WAIT", 0.01)


def port(server):
    return server.http.base_url.port


async def shown(server, session):
    return (await server.http.get(f"/api/sessions/{session}/messages")).json()["events"]


async def test_an_answer_comes_as_typed_events():
    async with served(Reply("Hello.")) as server, AsyncClient(str(server.http.base_url)) as client:
        session = await client.create_session(title="Ducks")
        events = [event async for event in client.ask(session["id"], "Hi")]
        assert events[0]["type"] == "user_message_sent" and events[-1]["type"] == "complete"
        assert events[-2]["content"] == "Hello."
        page = await client.messages(session["id"])
        assert [event["type"] for event in page["events"]] == ["user_message_sent", "message"]
        assert [one["title"] for one in (await client.sessions())["sessions"]] == ["Ducks"]


@pytest.mark.parametrize("cuts", [[700, 900, 1500], [1], [5000], [400] * 6])
async def test_an_answer_survives_broken_connections_and_is_asked_once(cuts):
    async with served(Reply(STORY, chunk=10, delay=0.001)) as server:
        session = await server.session()
        async with cutting_proxy(port(server), cuts) as (url, left), AsyncClient(url) as client:
            events = [event async for event in client.ask(session, "Count")]
        assert not left, "a connection was not cut"
        assert server.sim.accepted == 1
        assert invariants.broken(events, await shown(server, session)) == []


async def test_the_blocking_client_goes_on_as_well():
    async with served(Reply(STORY, chunk=10, delay=0.001)) as server:
        session = await server.session()

        def ask(url):
            with Client(url) as client:
                return list(client.ask(session, "Count"))

        async with cutting_proxy(port(server), [900, 2000]) as (url, left):
            events = await asyncio.to_thread(ask, url)
        assert not left
        assert invariants.broken(events, await shown(server, session)) == []


async def test_a_person_decides_through_the_client():
    script = [Reply(ToolCall("pay", {"amount": 3})), Reply("Paid.")]
    async with office(*script) as bureau, AsyncClient(str(bureau.http.base_url)) as client:
        session = await client.create_session()
        async for event in client.ask(session["id"], "Pay"):
            if event["type"] == "approval_requested":
                (approval,) = await client.approvals()
                await client.approve(approval["id"], args={"amount": 2})
        assert event["type"] == "complete"
        assert bureau.world.paid == [("Bob", 2)]
        with pytest.raises(ServerError) as refused:
            await client.reject(approval["id"])
        assert (refused.value.status, refused.value.code) == (409, "already_decided")


async def test_stopping_and_following():
    one = served(Reply(ToolCall("wait")))
    async with one as server, AsyncClient(str(server.http.base_url)) as client:
        session = (await client.create_session())["id"]
        async for event in client.ask(session, "Wait"):
            if event["type"] == "tool_use":
                break
        seen, cursor = [], event["cursor"]
        assert await client.stop(session)
        async for event in client.follow(session, after=cursor):
            seen.append(event["type"])
            if event["type"] == "complete":
                break
        assert seen == ["tool_result", "message", "complete"]


async def test_a_server_that_is_not_there_is_an_error_after_some_tries():
    async with AsyncClient("http://127.0.0.1:9") as client:
        with pytest.raises(Exception, match="connect"):
            [event async for event in client.ask("s", "Hi")]


async def test_another_users_session_is_not_found():
    async with served(secret=SECRET) as server:
        session = (await server.http.post("/api/sessions", headers=_as("alice"))).json()["id"]
        async with AsyncClient(str(server.http.base_url), token=mint(SECRET, "bob")) as bob:
            for call in (bob.messages(session), bob.stop(session)):
                with pytest.raises(ServerError) as refused:
                    await call
                assert refused.value.code == "not_found"
            with pytest.raises(ServerError):
                [event async for event in bob.ask(session, "Hi")]


def _as(user):
    return {"authorization": f"Bearer {mint(SECRET, user)}"}
