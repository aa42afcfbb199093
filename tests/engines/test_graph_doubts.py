"""Tools of a graph run where nobody sees it: what is open when the turn ends may have been done."""

import asyncio
import shutil
from contextlib import asynccontextmanager

import pytest
from graphs import USER, app_of, check, claude, hidden, talk
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from turnlog import Settings, create_app
from turnlog.ports import Decision
from turnlog.projections.billing.budgets import Budget
from turnlog.projections.proof import prove
from turnlog.simulator import Reply, ToolCall, Usage
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import kept_events
from turnlog.testing.golden.people import until_at_rest

pytestmark = pytest.mark.slow  # imports LangChain


class Tools:
    """One that writes and one that reads, and both never end."""

    def __init__(self):
        self.begun = asyncio.Event()

        @tool
        async def send_money(amount: int) -> str:
            """Sends it."""
            self.begun.set()
            await asyncio.Event().wait()

        @tool
        async def get_weather(city: str) -> str:
            """Tells it."""
            await asyncio.Event().wait()

        @tool
        async def send_mail() -> str:
            """Fails."""
            raise OSError("lost")

        self.all = [send_money, get_weather, send_mail]

    def graph(self, **calls):
        made = [
            {"id": f"call_{name}", "name": name, "args": args, "type": "tool_call"}
            for name, args in calls.items()
        ]
        builder = StateGraph(MessagesState)
        builder.add_node("say", lambda state: {"messages": [AIMessage("", tool_calls=made)]})
        builder.add_node("tools", ToolNode(self.all, handle_tool_errors=False))
        builder.add_edge(START, "say")
        builder.add_edge("say", "tools")
        return builder.compile()


async def results(app, session_id):
    kept = await kept_events(app.store, session_id)
    return {event.tool_name: event for event in kept if event.type == "tool_result"}


async def test_a_write_is_in_doubt_when_the_turn_is_stopped_and_a_read_is_not():
    tools = Tools()
    graph = tools.graph(send_money={"amount": 5}, get_weather={"city": "Ulm"})
    async with (app := app_of(graph)):
        session = await app.create_session(USER)
        asking = asyncio.create_task(app.run_turn("Go.", session_id=session.id))
        await tools.begun.wait()
        await app.stop_turn(USER, session.id)
        await asking
        found = await results(app, session.id)
        assert (found["send_money"].in_doubt, found["get_weather"].in_doubt) == (True, False)
        assert "may or may not have taken effect" in found["send_money"].error
        (doubt,) = await app.store.list_doubts(USER)
        assert (doubt.tool_use_id, doubt.args) == ("call_send_money", {"amount": 5})
        assert await hidden(app, session.id) == []


async def test_a_write_is_in_doubt_when_the_graph_fails_and_the_log_is_proven():
    async with (app := app_of(Tools().graph(send_mail={}))):
        session, live = await talk(app, "Go.")
        assert live[-1]["code"] == "graph_failed"
        assert (await results(app, session.id))["send_mail"].in_doubt
        assert [each.tool_name for each in await app.store.list_doubts(USER)] == ["send_mail"]
        await check(app, session.id, live)


async def test_a_call_that_the_budget_refuses_was_not_begun_and_nobody_has_to_settle_it():
    spends = Reply("I pay.", MONEY, usage=Usage(input_tokens=100, output_tokens=100))
    async with claude(spends) as model:
        graph = create_agent(model, tools=Tools().all)
        settings = Settings(budgets=(Budget(per="session", tokens=100),))
        async with (app := create_app(graph=graph, settings=settings, store=MemoryStore())):
            session, live = await talk(app, "Go.")
            assert live[-1]["code"] == "budget_exceeded"
            result = (await results(app, session.id))["send_money"]
            assert (result.in_doubt, result.success) == (False, False)


# what runs when a graph goes on after a person was asked

MONEY = ToolCall("send_money", {"amount": 5}, "toolu_money")
LETTER = ToolCall("send_letter", {"to": "Ada"}, "toolu_letter")
BOTH = ["send_money", "send_letter"]
# fmt: off
GOING_ON = {  # (what the middleware asks about, whether it is allowed, what the model says)
    "two that were asked about at once":    (BOTH, True, [Reply(MONEY, LETTER)]),
    "one beside one that was refused":      (BOTH[1:], False, [Reply(MONEY, LETTER)]),
    "one that came after what was allowed": (BOTH[1:], True, [Reply(LETTER), Reply(MONEY)]),
}
# fmt: on


class GoingOn:
    """An app of a graph that has gone on, and now sends money."""

    def __init__(self, folder):
        self.folder = folder
        self.sent = []
        self.begun = asyncio.Event()

    def app(self, folder):
        return create_app(graph=self.graph, settings=Settings(data=str(folder)))

    @asynccontextmanager
    async def sending(self, asked, approved, replies):
        @tool
        async def send_money(amount: int) -> str:
            """Sends it."""
            self.sent.append(amount)
            self.begun.set()
            await asyncio.Event().wait()

        @tool
        async def send_letter(to: str) -> str:
            """Sends it."""
            self.sent.append(to)
            return "sent"

        people = HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(asked, True))
        async with claude(*replies) as model:
            self.graph = create_agent(model, tools=[send_money, send_letter], middleware=[people])
            async with (app := self.app(self.folder)):
                self.session, self.live = await talk(app, "Go.")
                (question,) = [e for e in self.live if e["type"] == "approval_requested"]
                await app.answer_approval(
                    USER, question["approvalId"], Decision(approved=approved)
                )  # fmt: skip
                await self.begun.wait()
                yield app
                await app.stop_turn(USER, self.session.id)


@pytest.mark.parametrize("case", GOING_ON.values(), ids=GOING_ON)
async def test_a_graph_that_went_on_and_is_stopped_leaves_its_writes_in_doubt(tmp_path, case):
    going_on = GoingOn(tmp_path)
    async with going_on.sending(*case) as app:
        await app.stop_turn(USER, going_on.session.id)
        await until_at_rest(app, going_on.session.id, going_on.live, is_over)
        assert (await results(app, going_on.session.id))["send_money"].in_doubt


@pytest.mark.parametrize("case", GOING_ON.values(), ids=GOING_ON)
async def test_a_graph_that_went_on_and_died_sends_nothing_again(tmp_path, case):
    going_on = GoingOn(tmp_path / "alive")
    async with going_on.sending(*case):
        shutil.copytree(tmp_path / "alive", tmp_path / "dead")  # as a kill leaves it
    sent = [*going_on.sent]  # what was asked about together may be sent a moment later
    async with (app := going_on.app(tmp_path / "dead")):
        async with asyncio.timeout(30):
            while (await kept_events(app.store, going_on.session.id))[-1].type != "error":
                await asyncio.sleep(0.01)
        assert going_on.sent == sent
        assert (await results(app, going_on.session.id))["send_money"].in_doubt
        assert prove(await app.store.evidence(going_on.session.id)).problems == []


def is_over(more):
    return bool(more) and more[-1]["type"] == "complete"
