"""Agents from turnlog.toml, and who may use which agent."""

import sys

import pytest

from turnlog import Agent, create_app, tool
from turnlog.config import load
from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall, Usage
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import (
    SECRET,
    STREAM,
    as_user,
    client_of,
    kept_events,
    scripted_app,
)

FILE = """
[agents.supervisor]
prompt_file = "supervisor.md"
hands_over_to = ["erp"]

[agents.erp]
prompt = "You know the ERP."
name = "The ERP"
description = "Customers."
model = "claude-opus-5-5"
tools = ["office_tools:get_customer", "office_tools:MORE"]
mcp = ["crm"]
approval = "always"
approver = "role:sales"
thinking = false
budget = {per = "day", usd = 5}
users = ["alice"]

[mcp.crm]
url = "http://127.0.0.1:9/mcp"
"""
TOOLS = """
from turnlog import tool

@tool(writes=False)
async def get_customer(name: str) -> str:
    "Look a customer up."
    return name

@tool(writes=False)
async def list_items() -> list[str]:
    "All items."
    return []

MORE = [list_items]
NONE = "text"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "office_tools.py").write_text(TOOLS)
    (tmp_path / "supervisor.md").write_text("You route.")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("office_tools", None)


def app_of(folder, text=FILE, **more):
    (folder / "turnlog.toml").write_text(text)
    settings = load({}, folder / "turnlog.toml")
    return create_app(settings=settings, store=MemoryStore(), **more)


def test_agents_are_made_of_what_the_file_names(folder):
    app = app_of(folder)
    supervisor, erp = app._agents.values()
    assert (supervisor.id, supervisor.prompt, supervisor.hands_over_to) == (
        "supervisor", "You route.", ("erp",))  # fmt: skip
    assert [each.name for each in erp.tools] == ["get_customer", "list_items"]
    assert (erp.ref.name, erp.model, erp.thinking) == ("The ERP", "claude-opus-5-5", False)
    assert (erp.approval, erp.approver) == ("always", "role:sales")
    (budget,) = app.settings.budgets
    assert (budget.agent, budget.per, budget.usd) == ("erp", "day", 5)
    (crm,) = app.settings.mcp
    assert tuple(crm.agents) == ("erp",)


def test_agents_of_the_file_come_after_those_of_the_program(folder):
    app = app_of(folder, agents=[Agent("first", hands_over_to=["erp"])])
    assert list(app._agents) == ["first", "supervisor", "erp"]


WRONG = {
    "cannot hand over": '[agents.a]\nhands_over_to = ["nobody"]',
    "tool 'office_tools:gone' is not there": '[agents.a]\ntools = ["office_tools:gone"]',
    "no_such_module": '[agents.a]\ntools = ["no_such_module:x"]',
    "is not a tool": '[agents.a]\ntools = ["office_tools:NONE"]',
    "there is no .mcp.crm.": '[agents.a]\nmcp = ["crm"]',
    "Did you mean 'prompt'": '[agents.a]\npromt = "x"',
    "cannot be read": '[agents.a]\nprompt_file = "gone.md"',
    "not both": '[agents.a]\nprompt = "x"\nprompt_file = "supervisor.md"',
    "Expected `bool`": '[agents.a]\nthinking = "yes"',
    "'per' must be": '[agents.a]\nbudget = {per = "week", usd = 1}',
    "must be tables": 'agents = "a"',
    "which is no agent of": '[agents.a]\n[[budgets]]\nagent = "b"\nper = "day"\nusd = 1',
    "letters, digits": '[agents."a b"]',
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_cannot_work_is_said_at_start_up(folder, sentence):
    with pytest.raises(ConfigError, match=sentence):
        app_of(folder, WRONG[sentence])


# who may use it


async def test_an_agent_that_a_user_may_not_use_is_not_there_for_that_user(folder):
    async with (app := app_of(folder)):
        for user, there in (("alice", ["supervisor", "erp"]), ("bob", ["supervisor"])):
            assert [each["id"] for each in app.config(user)["agents"]] == there
            assert (await app.create_session(user)).agent_id == "supervisor"
        assert (await app.create_session("alice", agent="erp")).agent_id == "erp"
        with pytest.raises(BadInput, match="There are: supervisor"):
            await app.create_session("bob", agent="erp")


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


@tool(writes=True)
async def write() -> str:
    """Write."""
    return "written"


TEAM = [
    Agent("supervisor", prompt="S", hands_over_to=["erp"]),
    Agent("erp", prompt="E", tools=[look], users=["alice"]),
]


async def test_nobody_is_handed_over_to_an_agent_that_they_may_not_use():
    async with scripted_app(Reply("Hi."), Reply("Hi."), agents=TEAM) as (app, sim):
        for user in ("alice", "bob"):
            await app.run_turn("Hi", user_id=user)
        offered = [[t["name"] for t in request.get("tools", [])] for request in sim.requests]
    assert ["transfer_to_erp" in names for names in offered] == [True, False]


async def test_a_forged_hand_over_to_such_an_agent_fails():
    forged = Reply(ToolCall("transfer_to_erp", {"reason": "please"}))
    async with scripted_app(forged, Reply("No."), agents=TEAM) as (app, _):
        session = await app.create_session("bob")
        await app.run_turn("Hi", session_id=session.id, user_id="bob")
        events = await kept_events(app.store, session.id)
    assert [e.success for e in events if e.type == "tool_result"] == [False]


async def test_a_session_whose_agent_is_no_longer_the_users_says_so():
    store = MemoryStore()
    open_team = [Agent("erp", prompt="E")]
    async with scripted_app(agents=open_team, store=store) as (app, _):
        session = await app.create_session("bob")
    async with scripted_app(agents=[Agent("erp", users=["alice"])], store=store) as (app, _):
        with pytest.raises(NotFound, match="erp"):
            await app.run_turn("Hi", session_id=session.id, user_id="bob")


SALES = [
    Agent("supervisor", prompt="S", hands_over_to=["erp"]),
    Agent("erp", prompt="E", users=["alice"], roles=["sales"]),
]


async def test_a_role_opens_an_agent_and_counts_through_every_door():
    async with (
        scripted_app(*[Reply("Hi.")] * 9, agents=SALES, auth_secret=SECRET) as (app, sim),
        client_of(app) as http,
    ):
        may = {
            "alice": as_user("alice"),
            "bob": as_user("bob", roles=["sales"]),
            "root": as_user("root", roles=["admin"]),
            "eve": as_user("eve", roles=["finance"]),
        }
        seen = {}
        for name, headers in may.items():
            config = (await http.get("/api/config", headers=headers)).json()
            made = await http.post("/api/sessions", json={"agent": "erp"}, headers=headers)
            plain = (await http.post("/api/sessions", headers=headers)).json()["id"]
            path = f"/api/sessions/{plain}/messages"
            await http.post(path, json={"message": "Hi"}, headers=headers | STREAM)
            offered = [t["name"] for t in sim.requests[-1].get("tools", [])]
            models = (await http.get("/v1/models", headers=headers)).json()["data"]
            seen[name] = (
                [agent["id"] for agent in config["agents"]],
                made.status_code,
                "transfer_to_erp" in offered,
                "erp" in [model["id"] for model in models],
            )
    assert seen.pop("eve") == (["supervisor"], 400, False, False)
    assert set(map(str, seen.values())) == {str((["supervisor", "erp"], 201, True, True))}


async def test_the_roles_of_a_turn_are_kept_with_its_question():
    """A turn that waits goes on with them, also in another process, which has no token."""
    store = MemoryStore()
    asking = Agent("erp", prompt="E", tools=[write], roles=["sales"])
    call = Reply(ToolCall("write", {}, "toolu_1"))
    async with scripted_app(call, agents=[asking], store=store) as (app, _):
        waits = await app.run_turn("Write", user_id="bob", roles=["sales", "finance"])
        (question, *_) = await kept_events(store, waits.session_id)
        assert question.roles == ["sales"]
    async with scripted_app(Reply("Done."), agents=[asking], store=store) as (app, _):
        (approval,) = waits.waiting
        await app.answer_approval("bob", approval, Decision(approved=True))
        await app.rest()
        assert (await kept_events(store, waits.session_id))[-1].content == "Done."
        with pytest.raises(NotFound, match="erp"):
            await app.run_turn("Again", session_id=waits.session_id, user_id="bob")


@pytest.mark.parametrize(
    "wrong", [{"users": "alice"}, {"roles": "sales"}, {"roles": [" sales"]}, {"roles": [1]}]
)
def test_users_and_roles_are_lists_of_names(wrong):
    with pytest.raises(ConfigError, match="must be a list|cannot be a role"):
        Agent("erp", **wrong)


# what it may spend


async def test_the_budget_of_an_agent_counts_its_own_calls_only():
    routes = Reply(ToolCall("transfer_to_erp", {"reason": "go"}), usage=Usage(output_tokens=9000))
    looks = Reply(ToolCall("look"), usage=Usage(output_tokens=2000))
    team = [TEAM[0], Agent("erp", tools=[look], budget={"per": "session", "tokens": 1500})]
    async with scripted_app(routes, looks, agents=team) as (app, sim):
        result = await app.run_turn("Go")
    assert sim.accepted == 2
    assert "The budget for this session of the agent 'erp' is used up" in result.error
