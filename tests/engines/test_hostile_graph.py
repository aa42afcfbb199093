"""A graph may say what no store can write, and hold what nobody can save: its answer is kept."""

import asyncio
import math
import sys

import pytest
from fake_openai import DONE, FakeOpenAI, calls, chunk
from graphs import app_of, talk
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

pytestmark = pytest.mark.slow  # imports LangChain
HALF = "half \ud83d of a pair"


def called(args, *, name="look", call_id="c1", artifact=None):
    call = {"id": call_id, "name": name, "args": args, "type": "tool_call"}
    result = ToolMessage(HALF, tool_call_id=call_id, artifact=artifact)
    return [AIMessage("", tool_calls=[call]), result, AIMessage("Done.")]


def graph_of(node):
    builder = StateGraph(MessagesState)
    builder.add_node("say", node)
    builder.add_edge(START, "say")
    return builder.compile()


# fmt: off
SAID = {
    "half a pair in a text":      lambda: [AIMessage(HALF), AIMessage("Done.")],
    "half a pair in arguments":   lambda: called({"a": HALF}),
    "half a pair in names":       lambda: called({}, name=HALF, call_id=HALF),
    "half a pair in the model":   lambda: [AIMessage("Done.", response_metadata={"model": HALF})],
    "a number without end":       lambda: called({"a": 10**400, "b": math.nan}),
    "an object of the program":   lambda: called({}, artifact=object()),
}
# fmt: on


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
async def test_what_cannot_be_written_costs_no_answer(said):
    async with (app := app_of(graph_of(lambda state: {"messages": said()}))):
        _, live = await talk(app, "Go.")
    kinds = [event["type"] for event in live]
    assert kinds[-1] == "complete" and "error" not in kinds
    assert [e["content"] for e in live if e["type"] == "message"][-1] == "Done."
    results = [event for event in live if event["type"] == "tool_result"]
    assert all(each["result"] == "half ? of a pair" for each in results)


async def test_a_question_with_half_a_pair_is_asked():
    async with (app := app_of(graph_of(lambda state: interrupt({"question": HALF})))):
        _, live = await talk(app, "Go.")
    (asked,) = [event for event in live if event["type"] == "approval_requested"]
    assert asked["description"] == "half ? of a pair"


async def test_a_graph_that_waits_with_what_cannot_be_saved_fails():
    async with (app := app_of(graph_of(lambda state: interrupt(object())))):
        _, live = await talk(app, "Go.")
    assert (live[-1]["type"], live[-1]["code"]) == ("error", "graph_failed")


@tool
def quit_now() -> str:
    """As argparse does."""
    sys.exit(2)


@tool
async def quit_later() -> str:
    """The same, on the loop."""
    await asyncio.sleep(0)
    raise KeyboardInterrupt


async def leave(state):
    await asyncio.sleep(0)
    sys.exit(2)


def two_calls(name):
    calls = [{"id": f"c{n}", "name": name, "args": {}, "type": "tool_call"} for n in range(2)]
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [AIMessage("", tool_calls=calls)]})
    builder.add_node("tools", ToolNode([quit_now, quit_later]))
    builder.add_edge(START, "say")
    builder.add_edge("say", "tools")
    return builder.compile()


# fmt: off
LEAVING = {
    "a node":                      (lambda: graph_of(leave), "SystemExit"),
    "a node in a thread":          (lambda: graph_of(lambda state: sys.exit(2)), "SystemExit"),
    "two tools, in threads":       (lambda: two_calls("quit_now"), "SystemExit"),
    "two tools":                   (lambda: two_calls("quit_later"), "KeyboardInterrupt"),
}
# fmt: on


@pytest.mark.parametrize(("graph", "kind"), LEAVING.values(), ids=LEAVING.keys())
async def test_a_graph_cannot_end_the_server(graph, kind):
    async with (app := app_of(graph())):
        _, live = await talk(app, "Go.")
    assert (live[-1]["type"], live[-1]["error"]) == ("error", f"The graph failed ({kind}).")


RAN = []


@tool
def pay(amount: int = 0) -> str:
    """Pays."""
    RAN.append(amount)
    return "paid"


# fmt: off
BROKEN_OFF = {
    "in its arguments":  [calls("pay", '{"amount": 10')],
    "before them":       [calls("pay", "")],
    "by its length":     [calls("pay", '{"amount": 10'), chunk({}, "length"), DONE],
}
# fmt: on


@pytest.mark.parametrize("frames", BROKEN_OFF.values(), ids=BROKEN_OFF.keys())
async def test_a_call_that_breaks_off_is_not_run(frames):
    """LangChain mends what came, and would pay 10 where 1000 was being written."""
    RAN.clear()
    async with FakeOpenAI(frames).serve() as url:
        model = ChatOpenAI(model="gpt", base_url=url, api_key="k", streaming=True)
        async with (app := app_of(create_agent(model, tools=[pay]))):
            _, live = await talk(app, "Go.")
    assert (RAN, live[-1]["code"]) == ([], "stream_cut")


async def test_arguments_that_langchain_mends_are_logged_as_they_run():
    RAN.clear()
    frames = [calls("pay", '{"amount": 10'), chunk({}, "tool_calls"), DONE]
    async with FakeOpenAI(frames, "Done.").serve() as url:
        model = ChatOpenAI(model="gpt", base_url=url, api_key="k", streaming=True)
        async with (app := app_of(create_agent(model, tools=[pay]))):
            _, live = await talk(app, "Go.")
    (call,) = [event for event in live if event["type"] == "tool_use"]
    (result,) = [event for event in live if event["type"] == "tool_result"]
    assert (RAN, call["args"], result["result"]) == ([10], {"amount": 10}, "paid")
