"""The tasks agent, which has its tools from our own /mcp: its dialogues, and what may go wrong."""

from contextlib import asynccontextmanager

import pytest

from turnlog import ToolContext
from turnlog.contrib.tasks.agent import TASKS
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import SECRET, scripted_app

STORES = {"memory": lambda folder: MemoryStore(), "sqlite": SqliteStore}


@asynccontextmanager
async def tasks_app(*entries, store=None, **settings):
    async with scripted_app(*entries, agents=[TASKS], store=store, **settings) as (app, _):
        yield app


async def add(app, *titles, user_id="local"):
    for title in titles:
        await app.tasks.add_task(user_id, title=title, description="", at="2026-11-16T12:00:00Z")


def happened(result):
    """The tools that were called, each with what came of it."""
    events = [entry.event for entry in result.events]
    results = {e.tool_use_id: e for e in events if e.type == "tool_result"}
    return [(e.tool_name, results[e.tool_use_id]) for e in events if e.type == "tool_use"]


@pytest.mark.parametrize("store", STORES)
async def test_delete_all_my_tasks_lists_deletes_each_and_lists_again(store, tmp_path):
    entries = [
        Reply(ToolCall("list_tasks", {"status": "all"})),
        Reply(*(ToolCall("delete_task", {"id": n}) for n in (1, 2, 3))),
        Reply(ToolCall("list_tasks")),
        Reply("I've deleted all 3 tasks. Verified: your task list is now empty."),
    ]
    async with tasks_app(*entries, store=STORES[store](tmp_path)) as app:
        await add(app, "a", "b", "c")
        result = await app.run_turn("delete all my tasks")
        assert (result.success, await app.tasks.list_tasks("local")) == (True, [])
    called = happened(result)
    assert [name for name, _ in called] == ["list_tasks", *["delete_task"] * 3, "list_tasks"]
    assert [told.result["count"] for name, told in called if name == "list_tasks"] == [3, 0]
    assert "approval_requested" not in [entry.event.type for entry in result.events]


async def test_show_me_my_tasks_tells_what_the_database_holds():
    async with tasks_app(Reply(ToolCall("list_tasks")), Reply("You have 12 tasks.")) as app:
        await add(app, *"abcdefghijkl")
        ((_, told),) = happened(await app.run_turn("show me my tasks"))
        assert told.result["count"] == 12
        assert [task["title"] for task in told.result["tasks"]] == list("abcdefghijkl")


async def test_a_greeting_needs_no_tool_and_each_answer_is_a_new_message():
    async with tasks_app(Reply("Hello!"), Reply("I'm your Todo AI Assistant.")) as app:
        first = await app.run_turn("hello, how are you?")
        again = await app.run_turn("what is your name?", session_id=first.session_id)
        assert happened(first) == happened(again) == []
        assert first.message_id != again.message_id


async def test_two_users_at_once_each_act_for_themselves():
    entries = [Reply(ToolCall("add_task", {"title": "x"})), Reply("Done.")] * 2
    async with tasks_app(*entries) as app:
        for user in ("alice", "bob"):
            await app.run_turn("add x", user_id=user)
        for user in ("alice", "bob"):
            assert [task.title for task in await app.tasks.list_tasks(user)] == ["x"]


async def test_it_works_where_tokens_are_required_of_everybody_else():
    entries = [Reply(ToolCall("add_task", {"title": "x"})), Reply("Done.")]
    async with tasks_app(*entries, auth_secret=SECRET) as app:
        await app.run_turn("add x", user_id="alice")
        assert len(await app.tasks.list_tasks("alice")) == 1


async def test_what_goes_wrong_is_told_to_the_model():
    async with tasks_app(Reply(ToolCall("complete_task", {"id": 7})), Reply("Sorry.")) as app:
        ((_, told),) = happened(await app.run_turn("complete 7"))
        assert (told.success, told.error) == (False, "There is no task 7.")


async def test_a_store_that_fails_is_not_described_to_the_model(monkeypatch):
    async with tasks_app(Reply(ToolCall("list_tasks")), Reply("Sorry.")) as app:
        monkeypatch.setattr(app.tasks, "list_tasks", None)
        ((_, told),) = happened(await app.run_turn("show me my tasks"))
        assert (told.success, told.error) == (False, "The tool failed.")


async def test_the_agent_that_ships_has_the_tools_of_the_endpoint():
    async with scripted_app(Reply("Hello!"), agents=None) as (app, _):
        session = await app.create_session("local", agent="tasks")
        await app.run_turn("hello", session_id=session.id)
        assert app.describe()["mcp"] == "tasks (5 tools)"


async def test_what_may_be_done_again_is_asked_for_again_after_a_crash():
    """A write that began in a process that died is in doubt, unless repeating it is harmless."""
    async with tasks_app() as app:
        found = {tool.name: tool for tool in await app._mcp.tools_for(TASKS, "local")}
        await add(app, "a")
        context = ToolContext(user_id="local", session_id="s", turn_id="t", tool_use_id="c")
        again = await found["complete_task"].reconcile({"id": 1}, context)
        assert again["completed"] is True
    assert found["add_task"].reconcile is None
    assert [name for name, tool in found.items() if not tool.writes] == ["list_tasks"]
