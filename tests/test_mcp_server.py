"""`/mcp`, asked by the official client: the task tools, as the token's user and nobody else."""

import asyncio
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from turnlog import Agent, Settings, create_app, tool
from turnlog.errors import ConfigError
from turnlog.simulator.listener import listen
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET, is_problem
from turnlog.tokens import mint
from turnlog.tools.tool import ToolContext
from turnlog.transports.http import request
from turnlog.transports.mcp.server import KEY_META

TOOLS = ["list_tasks", "add_task", "update_task", "complete_task", "delete_task"]
ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def served(secret=SECRET, tools=(), **settings):
    made = Settings(api_key="k", base_url="http://127.0.0.1:9", auth_secret=secret, **settings)
    app = create_app([Agent("a", tools=tools)], settings=made, store=MemoryStore())
    async with app, listen(app, "127.0.0.1", 0) as url:
        app.url = url
        yield app


@asynccontextmanager
async def client(app, user="alice", token=None, mode="auto"):
    headers = {"authorization": f"Bearer {token or mint(SECRET, user)}"}
    async with (
        httpx2.AsyncClient(timeout=60, headers=headers) as http,
        Client(streamable_http_client(f"{app.url}/mcp", http_client=http), mode=mode) as made,
    ):
        yield made


async def posted(app, **headers):
    async with httpx2.AsyncClient(timeout=60) as http:
        return await http.post(f"{app.url}/mcp", json=ASK, headers=JSON | headers)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_does_what_it_says_and_keeps_its_own_schema(mode):
    """The client checks each result against the tool's output schema."""
    async with served() as app, client(app, mode=mode) as mcp:
        assert [tool.name for tool in (await mcp.list_tools()).tools] == TOOLS
        added = await mcp.call_tool("add_task", {"title": " Milk "})
        task = added.structured_content
        assert (task["id"], task["title"], task["completed"]) == (1, "Milk", False)
        assert task.keys() >= {"description", "createdAt", "updatedAt"}
        changed = await mcp.call_tool("update_task", {"id": 1, "description": "Two"})
        assert changed.structured_content["description"] == "Two"
        assert (await mcp.call_tool("complete_task", {"id": 1})).structured_content["completed"]
        listed = (await mcp.call_tool("list_tasks", {"status": "completed"})).structured_content
        assert (listed["count"], listed["tasks"][0]["title"]) == (1, "Milk")
        assert (await mcp.call_tool("delete_task", {"id": 1})).structured_content["deleted"]
        assert (await mcp.call_tool("list_tasks")).structured_content == {"tasks": [], "count": 0}


async def test_a_client_is_told_which_tools_change_what():
    async with served() as app, client(app) as mcp:
        found = {tool.name: tool for tool in (await mcp.list_tools()).tools}
    hints = {
        name: (t.annotations.read_only_hint, t.annotations.destructive_hint,
               t.annotations.idempotent_hint)
        for name, t in found.items()
    }  # fmt: skip
    assert hints == {
        "list_tasks": (True, False, True),
        "add_task": (False, False, False),
        "update_task": (False, True, True),
        "complete_task": (False, False, True),
        "delete_task": (False, True, True),
    }
    assert all(tool.output_schema["type"] == "object" for tool in found.values())
    assert "user" not in str([tool.input_schema for tool in found.values()])


async def test_each_user_has_their_own_tasks():
    async with served() as app, client(app) as alice, client(app, "bob") as bob:
        for title in ("a", "b"):
            await alice.call_tool("add_task", {"title": title})
        await bob.call_tool("add_task", {"title": "bob's"})
        for name, args in [
            ("delete_task", {}),
            ("complete_task", {}),
            ("update_task", {"title": "x"}),
        ]:
            refused = await bob.call_tool(name, {"id": 2, "user_id": "alice", **args})
            assert (refused.is_error, refused.content[0].text) == (True, "There is no task 2.")
        listed = await bob.call_tool("list_tasks", {"user_id": "alice", "userId": "alice"})
        assert [task["title"] for task in listed.structured_content["tasks"]] == ["bob's"]
        assert (await alice.call_tool("list_tasks")).structured_content["count"] == 2


async def test_the_same_key_adds_one_task():
    async with served() as app, client(app) as mcp:
        for key, count in (("k1", 1), ("k1", 1), ("k2", 2)):
            await mcp.call_tool("add_task", {"title": "Milk"}, meta={KEY_META: key})
            assert (await mcp.call_tool("list_tasks")).structured_content["count"] == count


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "missing required field `title`"),
        ({"title": "  "}, "The title is empty."),
        ({"title": "x" * 201}, "length <= 200"),
        ({"title": 5}, "Expected `str`"),
        ({"title": "x", "color": "red"}, "unknown field `color`"),
        ({"title": "x", "description": "y" * 2001}, "length <= 2000"),
    ],
)
async def test_wrong_arguments_are_told_to_the_model(args, why):
    async with served() as app, client(app) as mcp:
        refused = await mcp.call_tool("add_task", args)
        assert refused.is_error
        assert why in refused.content[0].text


async def test_an_unknown_tool_is_an_error_of_the_protocol():
    async with served() as app, client(app) as mcp:
        with pytest.raises(MCPError, match="There is no tool 'rm'"):
            await mcp.call_tool("rm", {})


async def test_a_bug_in_a_tool_is_not_told(caplog):
    async with served() as app, client(app) as mcp:
        app.tasks.list_tasks = None
        failed = await mcp.call_tool("list_tasks")
        assert (failed.is_error, failed.content[0].text) == (True, "The tool failed.")
    assert "MCP tool list_tasks failed" in caplog.text


# who is let in


async def test_without_a_token_nothing_is_told():
    async with served() as app:
        for headers in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic x"}):
            answer = await posted(app, **headers)
            is_problem(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_token_for_someone_else_is_refused():
    forged = [
        mint(SECRET, "alice", aud="turnlog:mcp"),
        mint("x" * 64, "alice", aud="turnlog:mcp"),
        mint(SECRET, "alice", days=-1),
    ]
    async with served() as app, served() as other:
        for token in (*forged, other._door.mint("alice")):
            is_problem(await posted(app, authorization=f"Bearer {token}"), 401, "unauthorized")


async def test_a_turns_own_token_opens_nothing_but_its_tools():
    async with served() as app, client(app, token=app._door.mint("carol")) as mcp:
        await mcp.call_tool("add_task", {"title": "Carol's"})
        assert len(await app.tasks.list_tasks("carol")) == 1
        headers = {"authorization": f"Bearer {app._door.mint('carol')}"}
        async with httpx2.AsyncClient(timeout=60, base_url=app.url) as http:
            is_problem(await http.get("/api/sessions", headers=headers), 401, "unauthorized")


async def test_without_authentication_it_is_the_local_user_on_this_machine():
    async with served(secret=None) as app, client(app) as mcp:
        await mcp.call_tool("add_task", {"title": "Mine"})
        assert len(await app.tasks.list_tasks("local")) == 1
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            is_problem(await posted(app, **headers), 403, "foreign_origin")


async def test_a_page_of_another_site_is_refused_with_a_token_too():
    bearer = {"authorization": f"Bearer {mint(SECRET, 'alice')}"}
    async with served(cors_origins="https://erp.example") as app:
        refused = await posted(app, origin="https://evil.example", **bearer)
        is_problem(refused, 403, "foreign_origin")
        assert (await posted(app, origin="https://erp.example", **bearer)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_are_no_sessions_to_watch_or_end(method):
    async with served() as app, httpx2.AsyncClient(timeout=60) as http:
        is_problem(await http.request(method, f"{app.url}/mcp"), 405, "method_not_allowed")


async def test_a_body_without_end_is_refused():
    async with served() as app, httpx2.AsyncClient(timeout=60) as http:
        bearer = {"authorization": f"Bearer {mint(SECRET, 'alice')}"}
        big = b'{"a": "' + b"x" * 1_100_000 + b'"}'
        answer = await http.post(f"{app.url}/mcp", content=big, headers=JSON | bearer)
        assert answer.status_code == 413


async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(request, "SLOWEST_BODY", 0.05)
    async with served() as app, asyncio.timeout(60):
        place = urlsplit(app.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        token = mint(SECRET, "alice")
        head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        writer.write(head.encode() + b"Content-Length: 9\r\n\r\n{")
        assert await reader.readline() == b"HTTP/1.1 400 Bad Request\r\n"
        writer.close()


@pytest.mark.slow
async def test_many_ask_at_once_and_each_is_who_they_are():
    async with served() as app:

        async def one(user):
            async with client(app, user) as mcp:
                await mcp.call_tool("add_task", {"title": f"of {user}"})
                listed = (await mcp.call_tool("list_tasks")).structured_content
                return user, [task["title"] for task in listed["tasks"]]

        found = await asyncio.gather(*(one(f"u{n}") for n in range(20)))
    assert found == [(f"u{n}", [f"of u{n}"]) for n in range(20)]


async def test_it_opens_again_after_it_was_closed():
    settings = Settings(api_key="k", base_url="http://127.0.0.1:9")
    app = create_app([Agent("a")], settings=settings, store=MemoryStore())
    for count in (1, 2):
        async with app, listen(app, "127.0.0.1", 0) as app.url, client(app) as mcp:
            await mcp.call_tool("add_task", {"title": "Milk"})
            assert (await mcp.call_tool("list_tasks")).structured_content["count"] == count


# the app's own tools


@tool(mcp=True, writes=False)
async def whoami(context: ToolContext, greeting: str = "Hello") -> str:
    """Says who acts."""
    return f"{greeting}, {context.user_id}"


@tool(mcp=True, approval="never")
def pay(amount: int) -> dict[str, int]:
    """Pay somebody."""
    return {"paid": amount}


@tool(writes=False)
def private() -> str:
    """Not for programs."""
    return "private"


async def test_an_apps_own_tools_are_offered_if_they_allow_it():
    async with served(tools=[whoami, pay, private]) as app, client(app) as mcp:
        found = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert list(found) == [*TOOLS, "whoami", "pay"]
        assert found["whoami"].annotations.read_only_hint
        assert found["pay"].annotations.destructive_hint
        answer = await mcp.call_tool("whoami", {"user_id": "bob"})
        assert answer.content[0].text == "Hello, alice"
        assert (await mcp.call_tool("pay", {"amount": 3})).structured_content == {"paid": 3}
        wrong = await mcp.call_tool("pay", {"amount": "much"})
        assert wrong.is_error and "amount" in wrong.content[0].text
        with pytest.raises(MCPError, match="There is no tool 'private'"):
            await mcp.call_tool("private")


async def test_a_turn_of_the_process_has_the_task_tools_and_nothing_of_the_apps():
    """An agent with the tasks' server must not get other agents' tools that way, unasked."""
    one = served(tools=[whoami, pay])
    async with one as app, client(app, token=app._door.mint("alice")) as mcp:
        assert [tool.name for tool in (await mcp.list_tools()).tools] == TOOLS
        with pytest.raises(MCPError, match="There is no tool 'pay'"):
            await mcp.call_tool("pay", {"amount": 3})


def test_a_tool_that_asks_a_person_is_not_offered_to_programs():
    @tool(mcp=True)
    def transfer(amount: int) -> str:
        """Moves money."""
        return "moved"

    with pytest.raises(ConfigError, match="over MCP nobody can be asked"):
        create_app([Agent("a", tools=[transfer])], settings=Settings(), store=MemoryStore())


def test_two_offered_tools_have_two_names():
    @tool(mcp=True, writes=False, name="list_tasks")
    def mine() -> str:
        """Has a name that is taken."""
        return ""

    with pytest.raises(ConfigError, match="Rename one"):
        create_app([Agent("a", tools=[mine])], settings=Settings(), store=MemoryStore())


async def test_calls_of_other_programs_are_limited_and_those_of_turns_are_not():
    async with served(writes_a_minute=2) as app:
        statuses = [
            (await posted(app, authorization=f"Bearer {mint(SECRET, 'alice')}")).status_code
            for _ in range(3)
        ]
        own = await posted(app, authorization=f"Bearer {app._door.mint('alice')}")
    assert statuses[:2] == [200, 200] and statuses[2] == 429
    assert own.status_code == 200


async def test_it_can_be_closed_and_turns_go_on():
    async with served(serve_mcp=False) as app:
        assert (
            await posted(app, authorization=f"Bearer {mint(SECRET, 'alice')}")
        ).status_code == 404
        own = await posted(app, authorization=f"Bearer {app._door.mint('alice')}")
    assert own.status_code == 200
