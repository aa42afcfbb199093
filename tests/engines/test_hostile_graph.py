"""A graph may say what no store can write, and hold what nobody can save: its answer is kept."""

import asyncio
import math
import sys

import pytest
from graphs import app_of, talk
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
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
