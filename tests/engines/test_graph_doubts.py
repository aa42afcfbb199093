"""Tools of a graph run where nobody sees it: what is open when the turn ends may have been done."""

import asyncio

import pytest
from graphs import USER, app_of, check, hidden, talk
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from turnlog.testing.apps import kept_events

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
