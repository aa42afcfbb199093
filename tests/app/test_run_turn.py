"""turnlog as a library: a turn is awaited for its result, or iterated for its events."""

import asyncio

import pytest

from turnlog import Agent, create_app, tool
from turnlog.config import Settings
from turnlog.errors import BadInput, ConfigError, NotFound
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app


@tool(writes=True)
def create_note(text: str) -> str:
    """Write it down."""
    return f"noted {text}"


AGENTS = [Agent("writer", tools=[create_note]), Agent("other")]
CALL = ToolCall("create_note", {"text": "x"})


def writing(*replies):
    return scripted_app(*replies, agents=AGENTS)


async def test_events_say_what_they_are():
    async with writing(Reply("Hello there.")) as (app, _):
        run = app.run_turn("Hi")
        events = [event async for event in run]
        kinds = [event.type for event in events if event.type != "message_chunk"]
        assert kinds == ["user_message_sent", "message", "complete"]
        chunks = [event.content for event in events if event.type == "message_chunk"]
        assert "".join(chunks) == events[-2].content == run.result.text == "Hello there."
        assert events[-2].agent.id == "writer"
        assert events[-2].stop_reason == "end_turn"
        assert events[-1].as_dict()["type"] == "complete"
        assert "Hello" in repr(events[-2])
        with pytest.raises(AttributeError):
            events[0].no_such_field  # noqa: B018 - to ask is what is tested


async def test_an_iteration_goes_on_over_a_decision():
    async with writing(Reply(CALL), Reply("Done.")) as (app, _):
        seen = []
        async for event in app.run_turn("Note x", user_id="alice"):
            seen.append(event.type)
            if event.type == "approval_requested":
                await app.answer_approval("alice", event.approval_id, Decision(approved=True))
        assert seen[-1] == "complete"
        assert [kind for kind in seen if kind.startswith(("approval", "tool"))] == [
            "tool_use", "approval_requested", "approval_resolved", "tool_result",
        ]  # fmt: skip


async def test_an_awaited_turn_returns_where_it_waits():
    async with writing(Reply(CALL), Reply("Done.")) as (app, _):
        result = await app.run_turn("Note x")
        assert (result.success, len(result.waiting)) == (False, 1)


async def test_a_turn_goes_on_without_its_watcher():
    async with writing(Reply("Hello there.")) as (app, _):
        async for event in app.run_turn("Hi"):
            session = event.entry.session_id
            break
        await app.rest()
        kept = await app.store.read("local", session)
        assert [entry.event.type for entry in kept] == ["user_message_sent", "message"]


async def test_a_task_can_be_made_of_it_and_callbacks_are_told():
    async with writing(Reply("One."), Reply("Two.")) as (app, _):
        told = []
        task = asyncio.create_task(app.run_turn("Hi", on_event=told.append))
        assert (await task).text == "One."
        assert [e.event.type for e in told][-1] == "complete"
        (gathered,) = await asyncio.gather(app.run_turn("Hi"))
        assert gathered.text == "Two."


@pytest.mark.parametrize("how", ["await", "iterate"])
async def test_an_async_callback_is_awaited_before_the_next_event(how):
    told = []

    async def async_callback(event):
        await asyncio.sleep(0)
        told.append(event.type)

    async with writing(Reply("One.")) as (app, _):
        run = app.run_turn("Hi", on_event=async_callback)
        seen = (await run).events if how == "await" else [event async for event in run]
        assert told == [event.type for event in seen]


async def test_nothing_begins_until_it_is_awaited():
    async with writing() as (app, sim):
        run = app.run_turn("Hi")
        run.close()
        del run
        assert (await app.store.session_ids(), sim.requests) == ([], [])


async def test_a_new_session_may_name_its_agent():
    async with writing(Reply("Hi.")) as (app, _):
        result = await app.run_turn("Hi", agent="other")
        assert (await app.store.get_session("local", result.session_id)).agent_id == "other"
        with pytest.raises(BadInput, match="not both"):
            app.run_turn("Hi", agent="other", session_id=result.session_id)


@pytest.mark.parametrize("how", ["await", "iterate"])
async def test_what_cannot_be_asked_is_raised(how):
    async with writing() as (app, _):
        run = app.run_turn("Hi", session_id="nowhere")
        with pytest.raises(NotFound):
            if how == "await":
                await run
            else:
                [event async for event in run]


async def test_an_app_that_is_not_open_says_so(tmp_path):
    app = create_app(AGENTS, settings=Settings(data=tmp_path))
    with pytest.raises(ConfigError, match="Open the app first: async with app"):
        await app.run_turn("Hi")
    with pytest.raises(ConfigError, match="Open the app first: async with app"):
        async for _ in app.run_turn("Hi"):
            pass


async def test_a_forgotten_await_is_named():
    async with writing(Reply("Hello.")) as (app, _):
        run = app.run_turn("Hi")
        with pytest.raises(AttributeError, match="run_turn must be awaited. 'text' is of the"):
            run.text  # noqa: B018 - to ask is what is tested
        with pytest.raises(AttributeError, match="'TurnRun' object has no attribute 'colour'"):
            run.colour  # noqa: B018 - to ask is what is tested
        assert (await run).text == "Hello."


@pytest.mark.parametrize("options", [{"file_ids": ["f"]}, {"mood": "good"}])
async def test_an_option_that_is_not_there_leaves_no_session_behind(options):
    async with writing() as (app, _):
        with pytest.raises(TypeError):
            await app.run_turn("Hi", user_id="alice", **options)
        assert await app.store.list_sessions("alice", limit=10) == []
