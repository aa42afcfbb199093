"""Tools that the client brings: under names of their own."""

import pytest

from turnlog import Agent, tool
from turnlog.errors import BadInput
from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import scripted_app


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


async def test_a_tool_of_the_client_cannot_pass_for_a_hand_over():
    async with scripted_app(Reply("Hi.")) as (app, _):
        with pytest.raises(BadInput, match="agents hand over by such names"):
            await app.run_turn("Hi", client_tools=brought("transfer_to_boss"))
