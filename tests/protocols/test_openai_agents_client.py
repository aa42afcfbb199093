"""Programs of the OpenAI Agents SDK, with an agent of ours as their model, through both APIs."""

import openai
import pytest
from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel

from turnlog.simulator import Reply, ToolCall
from turnlog.testing.apps import served


@function_tool
def ask_color(of: str) -> str:
    """Asks for a color."""
    return f"{of} are red"


async def run(agent, given, streamed):
    if not streamed:
        return await Runner.run(agent, given)
    running = Runner.run_streamed(agent, given)
    async for _event in running.stream_events():
        pass
    return running


@pytest.mark.parametrize("streamed", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
async def test_a_program_runs_its_functions_and_tells_what_was_said_before(kind, streamed):
    set_tracing_disabled(True)
    calls = [Reply("Well. ", ToolCall("ask_color", {"of": of})) for of in ("ducks", "geese")]
    async with served(*calls, Reply("They are red."), Reply("Bye.")) as server:
        base = str(server.http.base_url).rstrip("/")
        client = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
        model = kind(model="turnlog", openai_client=client)
        agent = Agent(name="x", instructions="Be brief.", tools=[ask_color], model=model)
        one = await run(agent, "Which color?", streamed)
        assert one.final_output == "They are red."
        more = [*one.to_input_list(), {"role": "user", "content": "Thanks"}]
        two = await run(agent, more, streamed)
        assert two.final_output == "Bye."
        results = [str(request["messages"][-1]) for request in server.sim.requests[1:3]]
        assert "ducks are red" in results[0] and "geese are red" in results[1]
        told = str(server.sim.requests[3]["messages"])
        for words in ("Be brief.", "Which color?", "geese are red", "called ask_color", "Thanks"):
            assert words in told
        await client.close()
