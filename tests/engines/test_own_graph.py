"""Graphs written for LangGraph, unchanged: a ReAct agent, a supervisor."""

from typing import Literal

import pytest
from fake_openai import FakeOpenAI
from graphs import app_of, asking_graph, claude, get_weather, hidden, kinds, talk, who
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from typing_extensions import TypedDict

from turnlog import Agent, Settings, create_app
from turnlog.errors import ConfigError
from turnlog.simulator import Reply, SimulatedClaude, Thinking, ToolCall, failure
from turnlog.stores.memory.store import MemoryStore

pytestmark = pytest.mark.slow  # imports LangChain
USER = "local"


# a ReAct agent


async def test_a_react_agent_runs_with_claude():
    script = [
        Reply("Let me look.", ToolCall("get_weather", {"city": "sf"}, "toolu_1")),
        Reply("Sunny, it is."),
        Reply("Again: sunny."),
    ]
    async with claude(*script) as model:
        graph = create_agent(model, tools=[get_weather], system_prompt="You help.")
        async with (app := app_of(graph)):
            session, live = await talk(app, "what is the weather in sf", "and now?")
            assert (session.engine, session.agent_id) == ("langgraph", "graph")
    names, agents = kinds(live)
    assert names[:6] == ["user_message_sent", "message", "tool_use", "tool_result", "message",
                         "complete"]  # fmt: skip
    assert agents == {"graph"}
    (use,) = [e for e in live if e["type"] == "tool_use"]
    assert (use["toolUseId"], use["toolName"]) == ("toolu_1", "get_weather")
    (result,) = [e for e in live if e["type"] == "tool_result"]
    assert result["result"] == "It's always sunny in sf!"
    said = [e for e in live if e["type"] == "message"]
    assert [m["content"] for m in said] == ["Let me look.", "Sunny, it is.", "Again: sunny."]
    assert said[0]["tokenUsage"]["inputTokens"] > 0 and said[0]["model"] == "claude-sonnet-5-5"
    assert float(said[0]["costUsd"]) > 0
    assert all("lc_run" not in str(e) for e in live)


async def test_the_next_turn_is_told_what_was_said_and_done_before():
    script = [
        Reply(ToolCall("get_weather", {"city": "sf"}, "toolu_1")),
        Reply("Sunny."),
        Reply("Yes."),
    ]
    sim = SimulatedClaude(*script, pace=0)
    async with sim.serve() as url:
        model = ChatAnthropic(model="claude-sonnet-5-5", base_url=url, api_key="x")
        async with (app := app_of(create_agent(model, tools=[get_weather]))):
            await talk(app, "weather?", "sure?")
    told = sim.requests[2]["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "user", "assistant",
                                                     "user"]  # fmt: skip
    assert sim.refused == []


async def test_a_react_agent_runs_with_a_model_of_openai():
    fake = FakeOpenAI(("get_weather", "call_1", {"city": "sf"}), "Sunny, it is.")
    async with fake.serve() as url:
        model = ChatOpenAI(model="gpt-fake", base_url=url, api_key="x", stream_usage=True)
        async with (app := app_of(create_agent(model, tools=[get_weather]))):
            _, live = await talk(app, "what is the weather in sf")
    use, result, last = (
        next(e for e in reversed(live) if e["type"] == kind)
        for kind in ("tool_use", "tool_result", "message")
    )
    assert (use["toolUseId"], result["success"]) == ("call_1", True)
    assert (last["content"], last["tokenUsage"]["inputTokens"]) == ("Sunny, it is.", 20)
    assert last["costUsd"] is None  # nobody knows the price of that model


async def test_thoughts_are_shown_and_kept():
    async with claude(Reply(Thinking("Hm."), "Yes.")) as model:
        thinking = model.model_copy(
            update={"thinking": {"type": "adaptive", "display": "summarized"}}
        )
        async with (app := app_of(create_agent(thinking, tools=[]))):
            _, live = await talk(app, "Is it?")
    names, _ = kinds(live)
    assert names == ["user_message_sent", "thinking_start", "thinking_complete", "thinking",
                     "message", "complete"]  # fmt: skip


async def test_a_tool_acts_for_the_user_of_the_session():
    script = [Reply(ToolCall("who", {}, "toolu_1")), Reply("Ok.")]
    async with claude(*script) as model, (app := app_of(create_agent(model, tools=[who]))):
        _, live = await talk(app, "Who am I?")
    assert next(e["result"] for e in live if e["type"] == "tool_result") == USER


# a supervisor, as LangGraph's tutorial has it


class Router(TypedDict):
    """Who acts next."""

    next: Literal["researcher", "FINISH"]


def supervisor_graph(model):
    def supervise(state: MessagesState) -> Command[Literal["researcher", "__end__"]]:
        choice = model.with_structured_output(Router).invoke(state["messages"])
        goto = choice["next"]
        return Command(goto=END if goto == "FINISH" else goto)

    worker = create_agent(model, tools=[get_weather], name="researcher")

    async def researcher(state: MessagesState) -> Command[Literal["supervisor"]]:
        result = await worker.ainvoke(state)
        said = HumanMessage(result["messages"][-1].content, name="researcher")
        return Command(update={"messages": [said]}, goto="supervisor")

    builder = StateGraph(MessagesState)
    builder.add_edge(START, "supervisor")
    builder.add_node("supervisor", supervise)
    builder.add_node("researcher", researcher)
    return builder.compile()


async def test_a_supervisor_routes_unseen_and_its_worker_speaks_under_its_own_name():
    script = [
        Reply(ToolCall("Router", {"next": "researcher"}, "toolu_r1")),
        Reply(ToolCall("get_weather", {"city": "sf"}, "toolu_1")),
        Reply("Sunny."),
        Reply(ToolCall("Router", {"next": "FINISH"}, "toolu_r2")),
    ]
    forced = "claude-sonnet-4-6"  # a model that may be forced to call a tool, as this needs it
    async with claude(*script, model=forced) as model, (app := app_of(supervisor_graph(model))):
        session, live = await talk(app, "weather in sf?")
        internal = await hidden(app, session.id)
    assert "Router" not in str(live)
    (complete,) = [e for e in live if e["type"] == "complete"]
    assert complete["toolsUsed"] == ["get_weather"]
    assert {e["agent"]["id"] for e in live if e["type"] == "message"} == {"researcher"}
    assert [e["to"] for e in live if e["type"] == "agent_changed"] == ["researcher", "graph"]
    routes = [e.content for e in internal if e.type == "message"]
    assert routes == ['Router {"next": "researcher"}', 'Router {"next": "FINISH"}']


# what goes wrong


async def test_a_provider_that_fails_ends_the_turn_with_an_error_without_its_words():
    refusal = failure("invalid_request_error", "secret words")
    async with claude(refusal) as model, (app := app_of(create_agent(model, tools=[]))):
        result = await app.run_turn("Hi")
    assert result.error == "The graph failed (AnthropicInvalidRequestError)."


async def test_a_graph_without_end_is_stopped():
    script = [Reply(ToolCall("get_weather", {"city": "sf"})) for _ in range(3)]
    settings = Settings(max_calls=3)
    async with claude(*script, Reply(ToolCall("get_weather", {"city": "x"}))) as model:
        graph = create_agent(model, tools=[get_weather])
        async with (app := create_app(graph=graph, settings=settings, store=MemoryStore())):
            result = await app.run_turn("Hi")
    assert result.error == "The agent went on calling tools without end."


def test_what_is_no_graph_of_messages_is_refused_at_once():
    with pytest.raises(ConfigError, match="compile"):
        create_app(graph=StateGraph(MessagesState), settings=Settings(), store=MemoryStore())
    with pytest.raises(ConfigError, match="leave out"):
        create_app([Agent("a")], graph=asking_graph(), settings=Settings())

    class Other(TypedDict):
        topic: str

    builder = StateGraph(Other)
    builder.add_node("a", lambda state: state)
    builder.add_edge(START, "a")
    with pytest.raises(ConfigError, match="messages"):
        create_app(graph=builder.compile(), settings=Settings(), store=MemoryStore())


def called(*calls):
    made = [
        {"id": f"call_{n}", "name": "get_weather", "args": {"city": city}, "type": "tool_call"}
        for n, city in enumerate(calls)
    ]
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [AIMessage("", tool_calls=made)]})
    builder.add_node("tools", ToolNode([get_weather]))
    builder.add_edge(START, "say")
    builder.add_edge("say", "tools")
    return builder.compile()


async def test_what_tools_return_is_the_answer_where_the_graph_gives_none():
    """As with `return_direct`."""
    async with (app := app_of(called("Ulm", "Rome"))):
        _, live = await talk(app, "Go.")
    assert kinds(live)[0][-2:] == ["message", "complete"]
    sunny = "It's always sunny in {}!".format
    assert (live[-2]["content"], live[-1]["stopReason"]) == (
        f"{sunny('Ulm')}\n\n{sunny('Rome')}",
        "end_turn",
    )


async def test_a_graph_that_says_nothing_answers_with_nothing():
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {})
    builder.add_edge(START, "say")
    async with (app := app_of(builder.compile())):
        _, live = await talk(app, "Go.")
    assert [event["type"] for event in live] == ["user_message_sent", "message", "complete"]
