"""The loop of a turn: the model is asked, its tools run, and it is asked again."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from turnlog import Agent, ToolContext, tool
from turnlog.engines.claude.model import ClaudeModel
from turnlog.errors import BudgetUsedUp, EngineFailed, TurnlogError
from turnlog.events import kinds as k
from turnlog.pipeline.execution import execute, named
from turnlog.ports import (
    NO_GUARD,
    Ask,
    CallStarted,
    OpenCall,
    Prompt,
    Seat,
    UnreadableCall,
    Verdict,
)
from turnlog.simulator import RawBlock, Reply, SimulatedClaude, Thinking, ToolCall, Usage, failure
from turnlog.testing import samples as s
from turnlog.tools.runner import ToolRunner

HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
CONTEXT = ToolContext(user_id="u", session_id="s", turn_id="t", tool_use_id="toolu")
AGENT = Agent("a")
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@tool(writes=False)
async def look(at: str = "it") -> str:
    """Look at something."""
    return f"saw {at}"


class Alone:
    """A team of one, which is always told the same."""

    agents = {AGENT.id: AGENT}

    def __init__(self, **told):
        self._told = told

    async def seat(self, agent_id, *, shorter=False):
        tools = ToolRunner([look], lambda _: CONTEXT)
        told = {"model": "claude-sonnet-5-5", "system": "", "messages": [HI], "max_tokens": 1000}
        prompt = Prompt(**told | self._told, tools=tools.specs)
        return Seat(agent=AGENT, prompt=prompt, tools=tools, tool_ids=frozenset({"toolu_taken"}))


async def given(wanted):
    """Ids as they come."""
    return wanted


async def outcome(*entries, guard=NO_GUARD, claim=given, ask=None, **told):
    """What the loop says with this script, and what it failed with."""
    sim = SimulatedClaude(*entries, pace=0)
    ask = replace(ask or Ask(speaker="a", team=Alone()), team=Alone(**told), guard=guard)
    outputs = []
    async with sim.serve() as url:
        model = ClaudeModel(api_key="k", base_url=url)
        try:
            async with asyncio.timeout(60), aclosing(execute(ask, model)) as batches:
                async for said in batches:
                    outputs += (await named(said, claim)).outputs
        except TurnlogError as failed:
            return outputs, failed, sim
        finally:
            await model.close()
    assert sim.refused == []
    return outputs, None, sim


at_most = partial(Ask, speaker="a", team=Alone())


def of(kind, outputs):
    return [each for each in outputs if isinstance(each, kind)]


def types(outputs):
    return [each.type for each in outputs if isinstance(each, k.Event) and each.kept]


# tools


async def test_tools_run_and_their_results_go_back_in_one_message():
    calls = [ToolCall("look", {"at": "a"}, "toolu_a"), ToolCall("look", {}, "toolu_b")]
    outputs, failed, sim = await outcome(Reply(Thinking("Hm."), *calls), Reply("Done."))
    assert failed is None
    answer, results = sim.requests[1]["messages"][1:]
    assert [block["type"] for block in answer["content"]] == ["thinking", "tool_use", "tool_use"]
    assert [block["content"] for block in results["content"]] == ["saw a", "saw it"]
    assert [each.result for each in of(k.ToolResult, outputs)] == ["saw a", "saw it"]


async def test_a_call_is_said_before_it_runs():
    outputs, _, _ = await outcome(Reply(ToolCall("look")), Reply("Done."))
    assert types(outputs) == ["message", "tool_use", "tool_result", "message"]


async def test_arguments_that_are_cut_are_answered_and_not_run():
    cut = ToolCall("look", id="toolu_a", raw_json='{"at": "th')
    outputs, failed, sim = await outcome(Reply(cut), Reply("Sorry."))
    (result,) = of(k.ToolResult, outputs)
    assert (failed, result.success) == (None, False)
    assert sim.requests[1]["messages"][2]["content"][0]["is_error"]
    assert of(UnreadableCall, outputs) == []


async def test_one_call_that_cannot_be_read_does_not_hold_up_the_others():
    calls = [ToolCall("look", id="toolu_a", raw_json="[1]"), ToolCall("look", {}, "toolu_b")]
    outputs, failed, sim = await outcome(Reply(*calls), Reply("Done."))
    assert failed is None
    results = {each.tool_use_id: each.success for each in of(k.ToolResult, outputs)}
    assert results == {"toolu_a": False, "toolu_b": True}
    told = sim.requests[1]["messages"][2]["content"]
    assert [block["tool_use_id"] for block in told] == ["toolu_a", "toolu_b"]


async def test_a_call_that_the_model_did_not_end_on_is_not_run():
    outputs, failed, sim = await outcome(Reply(ToolCall("look"), stop_reason="max_tokens"))
    assert (failed, sim.accepted, types(outputs)) == (None, 1, ["message"])


async def test_an_id_that_a_call_has_had_before_is_replaced_in_its_answer_too():
    outputs, failed, sim = await outcome(Reply(ToolCall("look", {}, "toolu_taken")), Reply("Ok."))
    (call,), (message, _) = of(k.ToolUse, outputs), of(k.Message, outputs)
    assert failed is None and call.tool_use_id != "toolu_taken"
    assert message.blocks[0]["id"] == call.tool_use_id
    assert sim.requests[1]["messages"][1]["content"][0]["id"] == call.tool_use_id


async def test_calls_that_were_open_are_answered_before_the_model_is_asked():
    opened = OpenCall(call=s.used("toolu_a", at="b"), agent=AGENT.ref)
    before = [HI, {"role": "assistant", "content": [s.call("toolu_a", at="b")]}]
    ask = Ask(speaker="a", team=Alone(), open_calls=[opened])
    outputs, failed, sim = await outcome(Reply("Done."), ask=ask, messages=before)
    assert (failed, types(outputs)) == (None, ["tool_result", "message"])
    assert sim.requests[0]["messages"][2]["content"][0]["content"] == "saw b"


# pauses, loops, containers, searches


async def test_a_paused_answer_is_sent_back_unchanged_and_goes_on():
    paused = Reply(RawBlock(SEARCH), stop_reason="pause_turn")
    _, failed, sim = await outcome(paused, Reply(RawBlock(FOUND), "Here."))
    assert failed is None
    assert sim.requests[1]["messages"][1] == {"role": "assistant", "content": [SEARCH]}


async def test_a_loop_without_end_is_ended():
    entries = [Reply(ToolCall("look"))] * 9
    _, failed, sim = await outcome(*entries, ask=at_most(max_calls=3))
    assert (failed.code, failed.retryable, sim.accepted) == ("too_many_calls", False, 3)


async def test_a_loop_of_pauses_is_ended_too():
    paused = Reply(RawBlock(SEARCH), stop_reason="pause_turn")
    entries = [paused, *[Reply(stop_reason="pause_turn")] * 9]
    _, failed, sim = await outcome(*entries, ask=at_most(max_calls=3))
    assert (failed.code, sim.accepted) == ("too_many_calls", 3)


async def test_a_container_that_was_given_is_gone_back_to():
    container = {"id": "container_1", "expires_at": "2026-11-16T12:00:00Z"}
    code = SEARCH | {"name": "code_execution"}
    paused = Reply(RawBlock(code), stop_reason="pause_turn", container=container)
    found = FOUND | {"type": "code_execution_tool_result", "content": {}}
    _, failed, sim = await outcome(paused, Reply(RawBlock(found), "Here."))
    assert (failed, sim.requests[1]["container"]) == (None, "container_1")


async def test_a_container_is_gone_back_to_until_there_is_a_newer_one():
    newer = Reply(ToolCall("look"), container={"id": "c2", "expires_at": "2026-11-16T12:00:00Z"})
    entries = [Reply(ToolCall("look")), newer, Reply(ToolCall("look")), Reply("Done.")]
    _, failed, sim = await outcome(*entries, container="c1")
    assert failed is None
    assert [request["container"] for request in sim.requests] == ["c1", "c1", "c2", "c2"]


def most_uses(request):
    return [each["max_uses"] for each in request["tools"] if "max_uses" in each]


async def test_what_a_call_has_searched_is_left_to_the_next_no_more():
    entries = [Reply(ToolCall("look"), usage=Usage(web_searches=n)) for n in (3, 9)]
    _, failed, sim = await outcome(*entries, Reply("Done."), searches=7)
    assert failed is None
    assert [most_uses(request) for request in sim.requests] == [[7], [4], []]


# ids


async def test_an_answer_has_an_id_of_its_own_from_the_first_moment():
    async def claim(wanted):
        return f"ours for {wanted}"

    outputs, _, _ = await outcome(Reply("Hi.", id="msg_1"), claim=claim)
    (started,) = of(CallStarted, outputs)
    assert started.message_id == "ours for msg_1"


# who may refuse the next call


class Guard:
    """Refuses a call after so many, or after so many answers."""

    def __init__(self, calls=99, answers=99):
        self._calls, self._answers = calls, answers
        self.seen = []

    async def before(self, prompt, model, agent_id=""):
        self.seen.append(len(prompt.messages))
        self._calls -= 1
        return self._verdict(self._calls)

    async def after(self, *, goes_on, agent_id=""):
        self.seen.append(goes_on)
        self._answers -= 1
        return self._verdict(self._answers)

    def _verdict(self, left):
        record = k.BudgetWarned(who="u", per="day", spent_usd=0, spent_tokens=1)
        return Verdict() if left >= 0 else Verdict([record], BudgetUsedUp("No more."))


async def test_the_guard_sees_every_call_and_every_answer():
    guard = Guard()
    await outcome(Reply(ToolCall("look")), Reply("Done."), guard=guard)
    assert guard.seen == [1, True, 3, False]


async def test_a_call_that_is_refused_is_not_made_and_the_refusal_is_kept():
    outputs, failed, sim = await outcome(Reply("Hi."), guard=Guard(calls=0))
    assert (failed.code, sim.accepted, types(outputs)) == ("budget_exceeded", 0, ["budget_warned"])


async def test_tools_do_not_run_where_the_call_after_them_is_refused():
    outputs, failed, _ = await outcome(Reply(ToolCall("look")), guard=Guard(answers=0))
    assert types(outputs) == ["message", "tool_use", "budget_warned"]
    assert failed.code == "budget_exceeded"


# what the model did


class Breaking:
    """A model that refuses what it was told after it has begun to answer."""

    def __init__(self):
        self.calls = 0

    async def call(self, prompt):
        self.calls += 1
        yield [CallStarted(message_id="msg_1", model="m", reported={})]
        yield [k.MessageChunk(message_id="msg_1", content="Hel", block_index=0)]
        raise EngineFailed("invalid_request", "No.")


async def test_an_answer_that_was_shown_is_not_asked_for_again():
    """What was shown of it would be there twice."""
    poem = {"role": "assistant", "content": [{"type": "poem"}, {"type": "text", "text": "Ho"}]}
    model = Breaking()
    ask = Ask(speaker="a", team=Alone(messages=[HI, poem, HI]))
    with pytest.raises(EngineFailed, match="No"):
        async for _ in execute(ask, model):
            pass
    assert model.calls == 1


async def test_what_the_provider_did_ends_the_loop():
    refused = failure("permission_error", "no")
    outputs, failed, sim = await outcome(Reply(ToolCall("look")), refused)
    assert (failed.code, sim.accepted) == ("not_permitted", 2)
    assert types(outputs) == ["message", "tool_use", "tool_result"]


# a turn that goes on after its process died


class Lead(Alone):
    """The agent may give tasks to another one."""

    async def seat(self, agent_id, *, shorter=False):
        agent = Agent("a", hands_over_to=["b"])
        return msgspec.structs.replace(await super().seat(agent_id, shorter=shorter), agent=agent)


@pytest.mark.parametrize("stop, success", [("end_turn", True), ("interrupted", False)])
async def test_an_answer_that_was_cut_off_is_no_success_of_its_task(stop, success):
    opened = OpenCall(call=s.used("toolu_1", "transfer_to_b"), agent=AGENT.ref, hidden=True)
    answers = {"b": s.said("Tea is", stop=stop)}
    ask = Ask(speaker="a", team=Lead(), open_calls=[opened], answers=answers)
    model = ClaudeModel(api_key="k", base_url="http://127.0.0.1:1")  # it is never asked
    async with aclosing(execute(ask, model)) as batches:
        (hidden,) = (await anext(batches)).outputs
    assert hidden.event.success is success
    assert "Tea is" in (hidden.event.result if success else hidden.event.error)
