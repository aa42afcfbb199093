"""Graphs that wait for people: `interrupt()` is an approval, and survives a restart."""

from types import SimpleNamespace

import pytest
from graphs import PAID, USER, app_of, asking_graph, check, claude, decided, get_weather, pay, talk
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from turnlog import Agent
from turnlog.engines.langgraph.graph import GraphEngine
from turnlog.engines.langgraph.pauses import Interrupted
from turnlog.errors import BadInput, EngineFailed
from turnlog.events import kinds as k
from turnlog.pipeline.tool_finalization import close_open_tools
from turnlog.ports import ApprovalState, Ask, OpenCall, Standing
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import samples as s

pytestmark = pytest.mark.slow  # imports LangChain


def paying(model):
    return create_agent(model, tools=[pay, get_weather], checkpointer=InMemorySaver())


PAYS = [Reply(ToolCall("pay", {"amount": 7}, "toolu_p")), Reply("It is done.")]


@pytest.mark.parametrize(("approved", "outcome"), [(True, "paid 7"), (False, "not paid")])
async def test_interrupt_inside_a_tool_asks_a_person(approved, outcome):
    PAID.clear()
    async with claude(*PAYS) as model, (app := app_of(paying(model))):
        session, live = await talk(app, "Pay 7")
        (asked,) = [e for e in live if e["type"] == "approval_requested"]
        assert (asked["toolUseId"], asked["description"]) == ("toolu_p", "Pay 7?")
        live += await decided(app, session, live, asked, approved=approved)
        await check(app, session.id, live)
    assert next(e["result"] for e in live if e["type"] == "tool_result") == outcome
    assert live[-1]["type"] == "complete" and [(7, approved)] == PAID


async def test_a_graph_that_waits_goes_on_after_a_restart():
    PAID.clear()
    store = MemoryStore()
    async with claude(*PAYS) as model:
        async with (app := app_of(paying(model), store)):
            session, live = await talk(app, "Pay 7")
        async with (app := app_of(paying(model), store)):
            asked = next(e for e in live if e["type"] == "approval_requested")
            live += await decided(app, session, live, asked, approved=True)
            await check(app, session.id, live)
    assert PAID == [(7, True)] and live[-1]["type"] == "complete"


async def test_two_interrupts_at_once_each_get_their_own_answer():
    PAID.clear()
    calls = [ToolCall("pay", {"amount": n}, f"toolu_{n}") for n in (1, 2)]
    async with claude(Reply(*calls), Reply("Done.")) as model, (app := app_of(paying(model))):
        session, live = await talk(app, "Pay 1 and 2")
        asked = {e["toolUseId"]: e for e in live if e["type"] == "approval_requested"}
        live += await decided(app, session, live, asked["toolu_2"], approved=False)
        live += await decided(app, session, live, asked["toolu_1"], approved=True)
        await check(app, session.id, live)
    results = {e["toolUseId"]: e["result"] for e in live if e["type"] == "tool_result"}
    assert results == {"toolu_1": "paid 1", "toolu_2": "not paid"}
    assert sorted(PAID) == [(1, True), (2, False)]


async def test_interrupt_outside_of_any_tool_is_a_call_of_its_own_and_takes_an_answer():
    async with (app := app_of(asking_graph())):
        session, live = await talk(app, "Hi")
        (asked,) = [e for e in live if e["type"] == "approval_requested"]
        assert (asked["toolName"], asked["description"]) == ("interrupt", "What is your name?")
        live += await decided(app, session, live, asked, approved=True, reason="Ada")
        await check(app, session.id, live)
    assert [e["content"] for e in live if e["type"] == "message"] == ["", "Hello, Ada."]


async def by_the_middleware(**decision):
    """The result of a call that LangChain's middleware lets a person decide."""
    script = [Reply(ToolCall("get_weather", {"city": "sf"}, "toolu_1")), Reply("Ok.")]
    async with claude(*script) as model:
        middleware = HumanInTheLoopMiddleware(interrupt_on={"get_weather": True})
        graph = create_agent(model, tools=[get_weather], middleware=[middleware])
        async with (app := app_of(graph)):
            session, live = await talk(app, "weather?")
            asked = next(e for e in live if e["type"] == "approval_requested")
            assert asked["toolUseId"] == "toolu_1"
            live += await decided(app, session, live, asked, **decision)
            await check(app, session.id, live)
    return next(e for e in live if e["type"] == "tool_result")


async def test_the_middleware_for_people_in_the_loop_gets_its_decisions():
    result = await by_the_middleware(approved=False, reason="Too hot")
    assert not result["success"] and "Too hot" in result["error"]


async def test_arguments_can_be_changed_for_the_middleware():
    result = await by_the_middleware(approved=True, args={"city": "Rome"})
    assert result["success"] and "Rome" in result["result"]


def several(args):
    requests = [{"name": "pay", "args": {"amount": n}} for n in (1, 2)]
    value = {"action_requests": requests, "review_configs": []}
    decision = ApprovalState(
        approval_id="a", args=args, args_hash="", outcome="approved", edited=True
    )
    return Interrupted("i", value).answer(decision)["decisions"]


def test_several_calls_are_changed_together_or_not_at_all():
    wanted = [{"name": "pay", "args": {"amount": n}} for n in (1, 3)]
    edits = [each["edited_action"] for each in several({"action_requests": wanted})]
    assert edits == wanted
    for wrong in ({"action_requests": wanted[:1]}, {"action_requests": "x"}, {"amount": 3}):
        assert {each["type"] for each in several(wrong)} == {"reject"}


async def test_arguments_that_a_person_changed_are_what_interrupt_returns():
    async with (app := app_of(asking_graph())):
        session, live = await talk(app, "Hi")
        asked = next(e for e in live if e["type"] == "approval_requested")
        live += await decided(app, session, live, asked, approved=True, args={"name": "Eve"})
        await check(app, session.id, live)
        approval = await app.store.get_approval(USER, asked["approvalId"])
        assert approval.description == "interrupt: name Eve"
    assert "Eve" in [e["content"] for e in live if e["type"] == "message"][-1]


async def test_a_result_of_the_client_is_not_taken_for_a_yes():
    async with (app := app_of(asking_graph())):
        session, live = await talk(app, "Hi")
        (asked,) = [e for e in live if e["type"] == "approval_requested"]
        with pytest.raises(BadInput, match="allow it or reject it"):
            await decided(app, session, live, asked, approved=True, args={CLIENT_RESULT: "Error"})


async def test_calls_that_a_model_numbers_anew_in_each_turn_stay_apart():
    """As some gateways do: both are call_1, both ask, and each has its own result."""
    PAID.clear()
    call = {"id": "call_1", "name": "pay", "args": {"amount": 5}, "type": "tool_call"}
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [AIMessage("", tool_calls=[call])]})
    builder.add_node("tools", ToolNode([pay]))
    builder.add_node("end", lambda state: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "say")
    builder.add_conditional_edges("say", lambda state: [Send("tools", [call])], ["tools"])
    builder.add_edge("tools", "end")
    async with (app := app_of(builder.compile())):
        session, live = None, []
        for _ in range(2):
            session, shown = await talk(app, "Go.", session=session)
            live += [*shown, *await decided(app, session, shown, shown[-1], approved=True)]
        await check(app, session.id, live)
    results = [event for event in live if event["type"] == "tool_result"]
    assert [each["result"] for each in results] == ["paid 5", "paid 5"]
    assert results[0]["toolUseId"] == "call_1" != results[1]["toolUseId"]


# a process that died


@pytest.mark.parametrize("paused", [False, True])
async def test_calls_that_may_have_begun_in_a_process_that_died_are_in_doubt_and_not_run_again(
    paused,
):
    """While it ran, or after a person had allowed a call and before its result was kept."""
    call = OpenCall(call=s.used("toolu_p", "pay"), agent=Agent("graph").ref)
    pause = k.EnginePaused(engine="langgraph", state="…") if paused else None
    standing = Standing(started={"toolu_p"} if paused else set())
    team = SimpleNamespace(agents={"graph": Agent("graph")})
    ask = Ask(
        speaker="graph", team=team, open_calls=[call], paused=pause, standing=standing
    )  # fmt: skip
    with pytest.raises(EngineFailed) as failed:
        await anext(GraphEngine(asking_graph()).answer(ask))
    (batch,) = close_open_tools([call], standing, "It died.")
    *started, result = batch.outputs
    assert (result.tool_use_id, result.in_doubt) == ("toolu_p", True)
    assert [each.tool_use_id for each in started] == ([] if paused else ["toolu_p"])
    assert (failed.value.code, failed.value.retryable) == ("interrupted", True)
