"""What a client of OpenAI's API sends again by itself runs once; and what it is told of the end."""

from base64 import b64encode
from contextlib import asynccontextmanager

import openai
import pytest
from cutting_proxy import cutting_proxy
from protocols.doors import open_doors

from turnlog import Agent, tool
from turnlog.simulator import Reply, ToolCall
from turnlog.simulator.script import Usage, invalid_request
from turnlog.testing import made_files as made
from turnlog.transports.protocols.openai_api import asking

paid = []
ASKED = [{"role": "user", "content": "Pay"}]
PAY = Reply("Sure.", ToolCall("pay", {"amount": 3}), usage=Usage(input_tokens=10, output_tokens=5))
AGAIN = {"x-stainless-retry-count": "1"}
KEY = {"Idempotency-Key": "order-17"}


@tool(approval="never")
async def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


@asynccontextmanager
async def clients(*script, approval="never", cuts=()):
    """The official client as it comes, which sends again what failed. `cuts`: bytes after which the
    answer on its first connection is cut, on its second …"""
    paid.clear()
    agent = Agent("clerk", tools=[tool(approval=approval)(pay.function)])
    async with (
        open_doors(*script, agents=[agent, Agent("other")]) as (app, http),
        cutting_proxy(http.base_url.port, cuts) as (url, _),
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="x") as ai,
    ):
        yield ai


def completion(ai, **more):
    return ai.chat.completions.create(model="turnlog", messages=ASKED, **more)


def response(ai, **more):
    return ai.responses.create(model="turnlog", input="Pay", **more)


async def test_a_completion_that_failed_after_a_write_is_not_sent_again():
    failing = [PAY, invalid_request("No.")]
    async with clients(*failing * 3) as ai:
        with pytest.raises(openai.APIStatusError) as failed:
            await completion(ai)
        response = failed.value.response
        assert (response.status_code, response.headers["x-should-retry"]) == (502, "false")
        assert paid == [3]


@pytest.mark.parametrize("ask", [completion, response])
@pytest.mark.parametrize("place", [{}, {"conversation": "mine"}])
async def test_a_request_whose_answer_was_lost_is_answered_and_not_run_again(ask, place):
    """The client sends it again by itself."""
    if ask is completion and place:
        place = {"metadata": place}
    async with clients(PAY, Reply("Done."), PAY, Reply("Again."), cuts=[20]) as ai:
        answer = await ask(ai, **place)
        assert paid == [3] and "Done." in answer.model_dump_json()
        again = await ask(ai, **place)  # by the program itself
        assert paid == [3, 3] and "Again." in again.model_dump_json()


@pytest.mark.parametrize("more", [AGAIN, KEY], ids=["by the client itself", "with a key"])
async def test_a_response_that_goes_on_is_answered_when_it_is_sent_again(more):
    """Its own turn is the newest then, and no longer the one that it names."""
    script = [Reply("Hi."), PAY, Reply("Done."), PAY, Reply("Again.")]
    async with clients(*script) as ai:
        one = await ai.responses.create(model="turnlog", input="Hello")
        first = KEY if more is KEY else {}
        two = await response(ai, previous_response_id=one.id, extra_headers=first)
        again = await response(ai, previous_response_id=one.id, extra_headers=more)
        assert (again.id, again.output_text) == (two.id, two.output_text)
        assert paid == [3]


async def test_a_response_whose_first_sending_never_arrived_is_a_new_one():
    """The same words were asked just before: it names the answer to them."""
    async with clients(Reply("One."), Reply("Two.")) as ai:
        one = await response(ai)
        two = await response(ai, previous_response_id=one.id, extra_headers=AGAIN)
        assert (one.output_text, two.output_text) == ("One.", "Two.")


async def test_a_response_is_answered_by_the_turn_that_followed_and_by_no_later_one():
    async with clients(*map(Reply, ("One.", "Two.", "Three."))) as ai:
        one = await response(ai)
        two = await response(ai, previous_response_id=one.id)
        three = await response(ai, previous_response_id=two.id)
        again = [
            await response(ai, previous_response_id=each.id, extra_headers=AGAIN)
            for each in (one, two)
        ]
        assert [each.id for each in again] == [two.id, three.id]


OTHERS = {"nothing said": {}, "another key": {"Idempotency-Key": "order-18"}}


@pytest.mark.parametrize("more", OTHERS.values(), ids=OTHERS)
async def test_a_conversation_that_has_gone_on_has_no_branches(more):
    """Nothing is kept of what is refused."""
    async with clients(Reply("One."), Reply("Two."), Reply("Three.")) as ai:
        one = await response(ai)
        await response(ai, previous_response_id=one.id, extra_headers=KEY)
        ai = ai.with_options(max_retries=0)
        with pytest.raises(openai.ConflictError, match="gone on"):
            await response(ai, previous_response_id=one.id, extra_headers=more)
        with pytest.raises(openai.ConflictError, match="gone on"):
            await ai.responses.create(
                model="turnlog", input="Else", previous_response_id=one.id, extra_headers=AGAIN
            )


async def described(ai, model, width):
    """What a picture shows, asked in a request that says that it is sent again."""
    picture = b64encode(made.picture(size=(width, 40))).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}]
    answer = await ai.chat.completions.create(model=model, messages=messages, extra_headers=AGAIN)
    return answer.choices[0].message.content


async def test_the_same_words_about_another_picture_or_to_another_agent_are_another_request():
    """Of many at once, one that is refused for their number is sent again, too."""
    async with clients(Reply("Red."), Reply("Blue."), Reply("Other.")) as ai:
        asked = [("clerk", 60), ("clerk", 61), ("other", 61), ("clerk", 60), ("turnlog", 61)]
        told = [await described(ai, model, width) for model, width in asked]
    assert told == ["Red.", "Blue.", "Other.", "Red.", "Blue."]


LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


async def test_the_same_words_with_other_functions_are_another_request():
    async with clients(Reply("One."), Reply("Two.")) as ai:
        await completion(ai)
        other = await completion(ai, tools=[LOOK], extra_headers=AGAIN)
    assert other.choices[0].message.content == "Two."


async def test_the_same_words_long_afterwards_are_another_request(monkeypatch):
    async with clients(Reply("One."), Reply("Two.")) as ai:
        await response(ai)
        monkeypatch.setattr(asking, "SENT_AGAIN_WITHIN", 0.0)
        later = await response(ai, extra_headers=AGAIN)
    assert later.output_text == "Two."


async def test_the_same_words_as_in_the_middle_of_a_conversation_are_another_request():
    async with clients(Reply("One."), Reply("Two."), Reply("Three.")) as ai:
        one = await response(ai)
        await response(ai, previous_response_id=one.id)
        other = await response(ai, extra_headers=AGAIN)
    assert other.output_text == "Three."


@pytest.mark.parametrize("ask", [completion, response])
async def test_a_request_with_the_same_key_is_the_same_turn_also_in_a_new_session(ask):
    async with clients(PAY, Reply("Done."), PAY, Reply("Done.")) as ai:
        one = await ask(ai, extra_headers=KEY)
        two = await ask(ai, extra_headers=KEY)
        assert (two.id, paid) == (one.id, [3])
        other = await ask(ai, extra_headers={"Idempotency-Key": "order-18"})
        assert (other.id != one.id, paid) == (True, [3, 3])


async def test_what_each_of_two_responses_used_is_told_once():
    done = Reply("Done.", usage=Usage(input_tokens=40, output_tokens=2))
    async with clients(PAY, done, approval="always") as ai:
        asked = await response(ai)
        answer = {"type": "mcp_approval_response", "approve": True,
                  "approval_request_id": asked.output[-1].id}  # fmt: skip
        rest = await ai.responses.create(
            model="turnlog", input=[answer], previous_response_id=asked.id
        )
        assert (asked.usage.input_tokens, asked.usage.output_tokens) == (10, 5)
        assert (rest.usage.input_tokens, rest.usage.output_tokens) == (40, 2)
        whole = await ai.responses.retrieve(asked.id)
        assert whole.usage.total_tokens == 57


async def test_what_a_completion_used_is_told_while_a_function_of_the_client_is_waited_for():
    calls = Reply(ToolCall("look", {}), usage=Usage(input_tokens=10, output_tokens=5))
    async with clients(calls) as ai:
        answer = await completion(ai, tools=[LOOK])
        assert answer.choices[0].finish_reason == "tool_calls"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10, 5)


# fmt: off
ENDS = {  # by how the model stops: how the response ends, and the completion
    "end_turn":                      ("completed", None, "stop"),
    "max_tokens":                    ("incomplete", "max_output_tokens", "length"),
    "model_context_window_exceeded": ("incomplete", "max_output_tokens", "length"),
    "refusal":                       ("incomplete", "content_filter", "content_filter"),
}
# fmt: on


@pytest.mark.parametrize(("stop", "end"), ENDS.items(), ids=ENDS)
async def test_how_a_model_stops_is_told(stop, end):
    async with clients(*[Reply("So.", stop_reason=stop)] * 2) as ai:
        one, other = await response(ai), await completion(ai)
        reason = one.incomplete_details and one.incomplete_details.reason
        assert (one.status, reason, other.choices[0].finish_reason) == end
