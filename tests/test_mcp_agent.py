"""An agent with an MCP server of others: who is asked first, and what is told."""

from contextlib import asynccontextmanager

import pytest
from mcp_servers import in_background

from turnlog import Agent, McpServer
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared():
    with in_background() as url:
        yield url


@asynccontextmanager
async def crm_app(url, *entries, **rules):
    agent = Agent("crm", mcp=[McpServer("crm", url=url, **rules)])
    async with scripted_app(*entries, agents=[agent]) as (app, _):
        yield app


ECHO = [Reply(ToolCall("crm__echo", {"text": "quack"})), Reply("Done.")]


@pytest.mark.parametrize(
    ("rules", "asks"),
    [
        ({}, True),  # it says that it only reads, and nobody has said to believe it
        ({"trusted": True}, False),
        ({"trusted": True, "approval": "always"}, True),
        ({"approval": "never"}, False),
    ],
)
async def test_a_person_is_asked_unless_the_server_is_trusted_to_only_read(shared, rules, asks):
    async with crm_app(shared, *ECHO, **rules) as app:
        result = await app.run_turn("echo")
        assert bool(result.waiting) is asks
        assert ("quack" in [_result(entry.event) for entry in result.events]) is not asks


async def test_what_was_allowed_is_done_with_the_servers_own_identity(shared):
    args = {"user_id": "bob", "question": "?"}
    async with crm_app(shared, Reply(ToolCall("crm__who", args)), Reply("Done.")) as app:
        result = await app.run_turn("I am bob", user_id="alice")
        (approval,) = result.waiting
        await app.answer_approval("alice", approval, Decision(approved=True))
        await app.end_turns()
        log = await app.store.read("alice", result.session_id)
    told = [entry.event.result for entry in log if entry.event.type == "tool_result"]
    assert told == [{"user_id": "alice", "question": "?"}]


async def test_what_is_known_of_its_servers_is_in_the_description(shared):
    async with crm_app(shared, Reply("Hi.")) as app:
        await app.run_turn("hello")
        assert app.describe()["mcp"].startswith("crm (")


def _result(event):
    return getattr(event, "result", None)
