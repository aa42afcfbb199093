"""Tools that the client brings: under names of their own."""

import pytest

from turnlog import Agent, tool
from turnlog.errors import BadInput
from turnlog.ports import Decision, ToolSpec
from turnlog.ports.tools import CLIENT_RESULT
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app
from turnlog.tools.tool import Tool


@tool(writes=True)
async def pay(amount: int) -> str:
    """Pay."""
    raise AssertionError("nobody has allowed this")


def brought(name):
    return [{"name": name, "description": "", "parameters": {"type": "object"}}]


async def test_a_tool_of_the_client_cannot_pass_for_one_of_the_server():
    """The client was told to run it, and its result was an answer to the server's question."""
    script = Reply(ToolCall("pay", {"amount": 5})), Reply("Paid.")
    async with scripted_app(*script, agents=[Agent("a", tools=[pay])]) as (app, sim):
        result = await app.run_turn("Pay", client_tools=brought("pay"))
        assert (result.success, result.waiting, sim.requests) == (False, [], [])
        assert "'pay' is a tool of this server" in result.error


async def test_a_name_that_another_agent_has_is_refused_before_anybody_speaks():
    """The turn ended in the middle, when it was handed over."""
    team = [
        Agent("boss", hands_over_to=["desk"]),
        Agent("desk", hands_over_to=["boss", "clerk"]),
        Agent("clerk", tools=[pay]),
    ]
    async with scripted_app(Reply("Hi."), agents=team) as (app, sim):
        result = await app.run_turn("Hi", client_tools=brought("pay"))
        assert (result.success, sim.requests) == (False, [])
        assert "'pay' is a tool of this server" in result.error


async def test_a_tool_of_the_client_cannot_pass_for_a_hand_over():
    async with scripted_app(Reply("Hi.")) as (app, _):
        with pytest.raises(BadInput, match="agents hand over by such names"):
            await app.run_turn("Hi", client_tools=brought("transfer_to_boss"))


async def test_a_result_of_the_client_is_no_yes_to_a_tool_of_the_server():
    """Of a tool that takes whatever comes, as tools of MCP servers may."""
    ran = []
    spec = ToolSpec(name="send", description="", input_schema={"type": "object"})
    send = Tool(function=ran.append, spec=spec, arguments=None, writes=True)
    async with scripted_app(
        Reply(ToolCall("send", {"to": "Bob"})), agents=[Agent("a", tools=[send])]
    ) as (app, _):
        (asked,) = (await app.run_turn("Send")).waiting
        with pytest.raises(BadInput, match="allow it or reject it"):
            decision = Decision(approved=True, args={CLIENT_RESULT: "There is no such tool here."})
            await app.answer_approval("local", asked, decision)
        (open_still,) = await app.store.list_approvals("local", status="pending")
        assert (open_still.id, ran) == (asked, [])
