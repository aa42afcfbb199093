"""Nothing begins in a graph before the call that it follows from is in the log."""

import asyncio

import pytest
from graphs import USER, app_of, check, claude, talk
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from turnlog.events.kinds import ToolUse
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire

pytestmark = pytest.mark.slow  # imports LangChain

CALL = {"id": "call_pay", "name": "pay", "args": {"amount": 5}, "type": "tool_call"}
PAID = []  # by each payment, whether its call was in the log


class WatchedStore(MemoryStore):
    """Takes its time to write a call down, and says when it has."""

    def __init__(self):
        super().__init__()
        self.has_call = False
        self.writes_call = asyncio.Event()

    async def append(self, turn, events, *args, **kwargs):
        has_call = any(isinstance(each.event, ToolUse) for each in events)
        if has_call:
            self.writes_call.set()
            for _ in range(300):  # as a disk does: others go on meanwhile
                await asyncio.sleep(0)
        stored = await super().append(turn, events, *args, **kwargs)
        self.has_call = self.has_call or has_call
        return stored


store: WatchedStore


@tool
def pay_now(amount: int) -> str:
    """Pays."""
    PAID.append(store.has_call)
    return "paid"


@tool
async def pay(amount: int) -> str:
    """Pays."""
    PAID.append(store.has_call)
    return "paid"


def ask(state):
    return {"messages": [AIMessage("", tool_calls=[CALL])]}


def done(state):
    return {"messages": [AIMessage("Paid.")]}


def steps(*nodes):
    """A graph of these nodes, one after the other."""
    builder = StateGraph(MessagesState)
    named = [(f"node_{number}", node) for number, node in enumerate(nodes)]
    builder.add_sequence(named)
    builder.add_edge(START, "node_0")
    return builder.compile()


async def call_by_hand(state):
    return {"messages": [await pay.ainvoke(state["messages"][-1].tool_calls[0])]}


def call_in_a_thread(state):
    return {"messages": [pay_now.invoke(state["messages"][-1].tool_calls[0])]}


def call_a_function(state):
    call = state["messages"][-1].tool_calls[0]
    PAID.append(store.has_call)  # no tool of LangChain's
    return {"messages": [ToolMessage("paid", tool_call_id=call["id"])]}


async def stream_another_graph(state):
    """A node that reads the stream of another graph by itself."""
    graph = steps(ask, ToolNode([pay]), done)
    parts = [part async for part in graph.astream(state, stream_mode=["custom", "values"])]
    return [part for mode, part in parts if mode == "values"][-1]


# fmt: off
GRAPHS = {
    "a graph":                                steps(ask, ToolNode([pay]), done),
    "a subgraph":                             steps(steps(ask, ToolNode([pay]), done)),
    "a subgraph of a subgraph":               steps(steps(steps(ask, ToolNode([pay]), done))),
    "a subgraph that calls by hand":          steps(steps(ask, call_by_hand, done)),
    "a subgraph that calls in a thread":      steps(steps(ask, call_in_a_thread, done)),
    "a subgraph with a function for a tool":  steps(steps(ask, call_a_function, done)),
    "a node that streams another graph":      steps(stream_another_graph),
}
# fmt: on


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
async def test_a_tool_begins_when_its_call_is_in_the_log(graph):
    global store
    store = WatchedStore()
    PAID.clear()
    async with (app := app_of(graph, store)):
        session, live = await talk(app, "Pay.")
        assert PAID == [True]
        assert [e["success"] for e in live if e["type"] == "tool_result"] == [True]
        assert live[-1]["type"] == "complete"


async def test_a_node_that_asks_a_model_and_calls_by_itself_has_its_calls_in_the_log_first():
    """A loop as people write it by hand."""
    global store
    store = WatchedStore()
    PAID.clear()
    async with claude(Reply("I pay.", ToolCall("pay", {"amount": 5}))) as model:

        async def ask_and_call(state):
            said = await model.bind_tools([pay]).ainvoke(state["messages"])
            return {"messages": [said, await pay.ainvoke(said.tool_calls[0])]}

        async with (app := app_of(steps(ask_and_call, done), store)):
            session, live = await talk(app, "Pay.")
            assert PAID == [True]
            assert [e["result"] for e in live if e["type"] == "tool_result"] == ["paid"]
            assert live[-1]["type"] == "complete"


def ask_twice(state):
    calls = [CALL | {"id": f"call_{number}", "name": "pay_now"} for number in range(2)]
    return {"messages": [AIMessage("", tool_calls=calls)]}


async def block_the_loop(state):
    """An async node that calls another graph as if it were not: the whole server waits for it."""
    return steps(ask_twice, ToolNode([pay_now]), done).invoke(state)


async def test_a_node_that_blocks_the_loop_is_not_waited_for():
    global store
    store = WatchedStore()
    PAID.clear()
    async with (app := app_of(steps(block_the_loop), store)):
        _, live = await talk(app, "Pay.")
        assert len(PAID) == 2
        assert live[-1]["type"] == "complete"


@pytest.mark.parametrize("node", [call_by_hand, call_in_a_thread])
async def test_what_has_not_begun_when_the_turn_is_stopped_does_not_begin(node):
    global store
    store = WatchedStore()
    PAID.clear()
    async with (app := app_of(steps(steps(ask, node, done)), store)):
        session = await app.create_session(USER)
        asking = asyncio.create_task(app.run_turn("Pay.", session_id=session.id))
        await store.writes_call.wait()
        for _ in range(100):  # the tool would begin by now
            await asyncio.sleep(0)
        await app.stop_turn(USER, session.id)
        result = await asking
        assert PAID == []
        await check(app, session.id, [wire.decode(wire.encode(each)) for each in result.events])


async def test_a_thread_that_nobody_can_cancel_begins_nothing_after_a_stop():
    """It waits where its tool begins, and ends there."""
    global store
    store = WatchedStore()
    PAID.clear()
    left = asyncio.Event()
    loop = asyncio.get_running_loop()
    script = Reply("I pay.", ToolCall("pay_now", {"amount": 5}))
    async with claude(script) as model, asyncio.timeout(20):

        def ask_and_call(state):
            said = model.bind_tools([pay_now]).invoke(state["messages"])
            try:
                return {"messages": [said, pay_now.invoke(said.tool_calls[0])]}
            finally:
                loop.call_soon_threadsafe(left.set)

        async with (app := app_of(steps(ask_and_call, done), store)):
            session = await app.create_session(USER)
            asking = asyncio.create_task(app.run_turn("Pay.", session_id=session.id))
            await store.writes_call.wait()
            await app.stop_turn(USER, session.id)
            result = await asking
            await left.wait()
            assert PAID == []
            await check(app, session.id, [wire.decode(wire.encode(each)) for each in result.events])
