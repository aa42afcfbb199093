"""The OpenAI Agents SDK as an engine. On Claude, `test_flows_everywhere` plays every page on it.

Here it runs on models that speak OpenAI's API. The servers are turnlog's own `/v1`, which the
official clients are tested against, in front of a scripted Claude; and fakes of both APIs.
"""

import asyncio
from contextlib import asynccontextmanager

import agents as sdk
import pytest
from fake_openai import FakeOpenAI, FakeResponses

from turnlog import Agent, Settings, create_app, tool
from turnlog.engines.openai_agents.engine import OpenAIAgentsEngine
from turnlog.engines.openai_agents.models import openai_model
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET, client_of, kept_events, scripted_app
from turnlog.tokens import mint

pytestmark = pytest.mark.slow

paid = []


@tool(writes=True)
async def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


@tool(writes=False)
async def look(at: str) -> dict[str, str]:
    """Look at something."""
    return {"seen": at}


@asynccontextmanager
async def on(api, *script, key=None, **guardrails):
    """An app whose model is another server, and that server's Claude."""
    secret = SECRET if key else None
    async with scripted_app(*script, auth_secret=secret) as (there, sim), client_of(there) as http:
        url = str(http.base_url).rstrip("/")
        model = openai_model("turnlog", base_url=f"{url}/v1", api_key=key, api=api)
        engine = OpenAIAgentsEngine(model, **guardrails)
        app = create_app(
            [Agent("clerk", prompt="Be brief.", tools=[pay, look])],
            settings=Settings(api_key="none"),
            store=MemoryStore(),
            engine=engine,
        )
        async with app:
            yield app, sim


BOTH = pytest.mark.parametrize("api", ["responses", "chat"])


@BOTH
async def test_several_turns_with_a_tool_have_ids_of_their_own(api):
    script = [
        Reply("Let me look.", ToolCall("look", {"at": "ducks"})),
        Reply("Ducks."),
        Reply("Yes."),
    ]
    async with on(api, *script) as (app, sim):
        one = await app.run_turn("What is there?")
        two = await app.run_turn("Sure?", session_id=one.session_id)
        assert (one.text, two.text) == ("Ducks.", "Yes.")
        kept = await kept_events(app.store, one.session_id)
        assert [event.type for event in kept] == [
            "user_message_sent", "message", "tool_use", "tool_result", "message",
            "user_message_sent", "message",
        ]  # fmt: skip
        (result,) = [event for event in kept if event.type == "tool_result"]
        assert result.result == {"seen": "ducks"}
        ids = [event.message_id for event in kept if event.type == "message"]
        assert len(set(ids)) == 3 and "__fake_id__" not in ids
        assert one.usage.output_tokens > 0
        assert "Be brief." in str(sim.requests[0])


@BOTH
async def test_an_approval_interrupts_the_run_and_the_turn_goes_on(api):
    paid.clear()
    async with on(api, Reply(ToolCall("pay", {"amount": 3})), Reply("Done.")) as (app, _sim):
        asked = await app.run_turn("Pay")
        (approval,) = asked.waiting
        assert paid == []
        await app.answer_approval("local", approval, Decision(approved=True))
        await app.rest()
        kept = await kept_events(app.store, asked.session_id)
        assert paid == [3] and kept[-1].content == "Done."


@pytest.mark.parametrize(("api", "fake"), [("responses", FakeResponses), ("chat", FakeOpenAI)])
async def test_a_server_of_somebody_else_is_asked_and_its_answers_are_kept(api, fake):
    paid.clear()
    server = fake(
        ("look", "call_1", {"at": "ducks"}), "Ducks.", ("pay", "call_2", {"amount": 3}), "Done."
    )
    async with server.serve() as url:
        app = create_app(
            [Agent("clerk", prompt="Be brief.", tools=[pay, look])],
            settings=Settings(api_key="none"),
            store=MemoryStore(),
            engine=OpenAIAgentsEngine(openai_model("gpt", base_url=url, api_key="k", api=api)),
        )
        async with app:
            one = await app.run_turn("What is there?")
            two = await app.run_turn("Pay", session_id=one.session_id)
            (approval,) = two.waiting
            assert (one.text, paid) == ("Ducks.", [])
            await app.answer_approval("local", approval, Decision(approved=True))
            await app.rest()
            kept = await kept_events(app.store, one.session_id)
    calls = [event.tool_use_id for event in kept if event.type == "tool_use"]
    said = [event for event in kept if event.type == "message"]
    assert (calls, paid, said[-1].content) == (["call_1", "call_2"], [3], "Done.")
    assert len({message.message_id for message in said}) == len(said) == 4
    assert said[1].token_usage.output_tokens == 5
    assert server.answers == [] and "Be brief." in str(server.requests[0])
    last = str(server.requests[-1])
    assert all(words in last for words in ("ducks", "call_1", "paid 3", "What is there?"))


async def test_a_refused_key_is_an_error_with_a_code():
    async with on("responses", Reply("Never."), key=mint("x" * 32, "nobody")) as (app, _sim):
        result = await app.run_turn("Hi")
        assert not result.success
        assert result.events[-1].event.code == "invalid_key"


@sdk.input_guardrail
async def no_ducks(context, agent, given):
    return sdk.GuardrailFunctionOutput(output_info=None, tripwire_triggered="duck" in str(given))


@sdk.output_guardrail
async def no_geese(context, agent, output):
    return sdk.GuardrailFunctionOutput(output_info=None, tripwire_triggered="Geese" in output)


@pytest.mark.parametrize(
    ("question", "answer", "name"),
    [("A duck?", "Yes.", "no_ducks"), ("A bird?", "Geese.", "no_geese")],
)
async def test_a_guardrail_that_trips_is_an_error_with_a_code(question, answer, name):
    guards = {"input_guardrails": [no_ducks], "output_guardrails": [no_geese]}
    async with on("responses", Reply(answer), Reply("Fine."), **guards) as (app, _sim):
        tripped = await app.run_turn(question)
        last = tripped.events[-1].event
        assert (last.code, name in last.error) == ("guardrail", True)
        after = await app.run_turn("Hello?", session_id=tripped.session_id)
        assert after.success


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("place", ["input", "output"])
async def test_a_guardrail_that_fails_lets_nothing_pass(place, error):
    async def broken(context, agent, given):
        await asyncio.sleep(0)
        raise error("hush")

    guard = getattr(sdk, f"{place}_guardrail")(broken)
    async with on("responses", Reply("Fine."), **{f"{place}_guardrails": [guard]}) as (app, _sim):
        last = (await app.run_turn("Hi")).events[-1].event
    sentence = "A guardrail could not tell whether this is allowed: broken."
    assert (last.code, last.error) == ("guardrail", sentence)
