"""`/v1`, with the official OpenAI clients of PyPI and npm."""

import asyncio
import json
import subprocess
from base64 import b64encode
from pathlib import Path

import nodejs
import openai
import pytest
from protocols.doors import openai_client as client

from turnlog.simulator import Reply, Thinking, ToolCall
from turnlog.simulator.script import invalid_request
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, served
from turnlog.testing.office import office

SCRIPT = Path(__file__).parents[1] / "node" / "openai_client.mjs"
COLOR = {"type": "object", "properties": {"of": {"type": "string"}}}


async def test_a_response_is_a_turn_and_the_next_goes_on_in_its_session():
    async with served(Reply("Hello."), Reply("Again.")) as server, client(server) as ai:
        one = await ai.responses.create(model="turnlog", input="Hi")
        assert (one.status, one.output_text) == ("completed", "Hello.")
        two = await ai.responses.create(model="waiter", input="More", previous_response_id=one.id)
        assert two.output_text == "Again."
        assert two.conversation.id == one.conversation.id
        kept = await server.kept(one.conversation.id)
        assert [event.type for event in kept] == ["user_message_sent", "message"] * 2
        assert two.output[0].id == kept[-1].message_id
        assert two.usage.total_tokens == two.usage.input_tokens + two.usage.output_tokens
        with pytest.raises(openai.ConflictError, match="has gone on"):
            await ai.responses.create(model="turnlog", input="Hi", previous_response_id=one.id)


async def test_the_stream_has_everything_and_is_the_same_when_it_is_retrieved():
    script = [Reply(Thinking("Hm."), "Let me see.", ToolCall("wait")), Reply("It went.")]
    async with served(*script) as server, client(server) as ai:
        server.go.set()
        session = await server.session()
        await server.http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        async with ai.responses.stream(model="turnlog", input="Go", conversation=session) as stream:
            events = [event async for event in stream]
            final = await stream.get_final_response()
        assert [item.type for item in final.output] == [
            "reasoning", "message", "mcp_call", "message"
        ]  # fmt: skip
        assert final.output[0].encrypted_content
        assert final.output[2].output == "went"
        numbers = [event.sequence_number for event in events if hasattr(event, "sequence_number")]
        assert numbers == sorted(numbers)
        again = await ai.responses.retrieve(final.id)
        assert again.to_dict()["output"] == without_parsed(final.to_dict()["output"])
        more = [event async for event in await ai.responses.retrieve(final.id, stream=True)]
        assert more[-1].response.output_text == final.output_text
        items = await ai.conversations.items.list(session, order="asc")
        assert [item.id for item in items.data][1:] == [item.id for item in final.output]


def without_parsed(output):
    """The client's helper adds a field of its own."""
    for part in [part for item in output for part in item.get("content") or ()]:
        part.pop("parsed", None)
    return output


async def test_an_approval_is_an_mcp_approval_request():
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")]
    async with office(*script) as bureau, client(bureau) as ai:
        asked = await ai.responses.create(model="turnlog", input="Pay")
        request = asked.output[-1]
        assert (request.type, json.loads(request.arguments)) == (
            "mcp_approval_request", {"amount": 3}
        )  # fmt: skip
        reply = {
            "type": "mcp_approval_response",
            "approval_request_id": request.id,
            "approve": True,
        }
        done = await ai.responses.create(
            model="turnlog", input=[reply], previous_response_id=asked.id
        )
        assert (done.output_text, bureau.world.paid) == ("Done.", [("Bob", 3)])
        assert [item.type for item in done.output] == ["mcp_call", "message"]


async def test_a_function_of_the_client_is_run_by_the_client_in_both_apis():
    call = Reply(ToolCall("ask_color", {"of": "ducks"}))
    async with served(call, Reply("Red."), call, Reply("Blue.")) as server, client(server) as ai:
        about = {"name": "ask_color", "description": "Asks.", "parameters": COLOR}
        tools = [{"type": "function", **about}]
        asked = await ai.responses.create(model="turnlog", input="Which?", tools=tools)
        (call,) = asked.output
        result = {"type": "function_call_output", "call_id": call.call_id, "output": '"red"'}
        done = await ai.responses.create(
            model="turnlog", input=[result], previous_response_id=asked.id, tools=tools
        )
        assert done.output_text == "Red."
        messages = [{"role": "user", "content": "Which?"}]
        tools = [{"type": "function", "function": about}]
        one = await ai.chat.completions.create(model="turnlog", messages=messages, tools=tools)
        (choice,) = one.choices
        assert choice.finish_reason == "tool_calls"
        (called,) = choice.message.tool_calls
        messages += [
            choice.message.model_dump(),
            {"role": "tool", "tool_call_id": called.id, "content": '"blue"'},
        ]
        two = await ai.chat.completions.create(model="turnlog", messages=messages, tools=tools)
        assert two.choices[0].message.content == "Blue."


async def test_a_completion_is_told_what_was_said_before_and_a_named_one_goes_on():
    async with served(*map(Reply, ("One.", "Two.", "Three."))) as server, client(server) as ai:
        before = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Earlier"},
            {"role": "assistant", "content": "Indeed"},
        ]
        last = {"role": "user", "content": "And now?"}
        answer = await ai.chat.completions.create(model="turnlog", messages=[*before, last])
        assert answer.choices[0].message.content == "One."
        assert answer.created > 1_700_000_000
        told = str(server.sim.requests[0]["messages"])
        assert all(words in told for words in ("Be brief.", "Earlier", "Indeed", "And now?"))
        name = {"conversation": "mine"}
        for _ in range(2):
            await ai.chat.completions.create(model="turnlog", messages=[last], metadata=name)
        told = str(server.sim.requests[2]["messages"])
        assert "Two." in told and "One." not in told


async def test_what_waits_is_said_where_the_protocol_cannot_ask():
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3}))]
    async with office(*script) as bureau, client(bureau) as ai:
        messages = [{"role": "user", "content": "Pay"}]
        answer = await ai.chat.completions.create(model="turnlog", messages=messages)
        assert "waits for an approval: Pay 3 to Bob" in answer.choices[0].message.content


async def test_a_response_can_be_cancelled_and_keeps_what_was_said():
    async with served(Reply("Before.", ToolCall("wait"))) as server, client(server) as ai:
        stream = await ai.responses.create(model="turnlog", input="Go", stream=True)
        async for event in stream:
            if event.type == "response.created":
                name = event.response.id
            if event.type == "response.output_item.added" and event.item.type == "mcp_call":
                break
        cancelled = await ai.responses.cancel(name)
        assert (cancelled.status, cancelled.output_text) == ("cancelled", "Before.")
        assert cancelled.incomplete_details is None


async def test_a_stream_that_broke_goes_on_after_a_number_and_says_every_letter_once():
    words = "Ducks quack, and geese honk. " * 20
    async with (
        served(Reply(Thinking("Hm. " * 30), words, ToolCall("wait")), Reply("Bye.")) as server,
        client(server) as ai,
    ):
        session = await server.session()
        await server.http.patch(f"/api/sessions/{session}/thinking", json={"enabled": True})
        seen = []
        async for event in await ai.responses.create(
            model="turnlog", input="Go", conversation=session, stream=True
        ):
            seen.append(event)
            if event.type == "response.output_item.added" and event.item.type == "mcp_call":
                break
        name = seen[0].response.id
        server.go.set()
        await server.ended()  # from here on it is told from the log, in larger pieces
        whole = [event async for event in await ai.responses.retrieve(name, stream=True)]
        numbers = [event.sequence_number for event in seen]
        for cut in (*numbers[::7], numbers[-1], 10, 100, 200):
            rest = await ai.responses.retrieve(name, stream=True, starting_after=cut)
            before = [event for event in whole if event.sequence_number <= cut]
            after = [event async for event in rest]
            assert all(event.sequence_number > cut for event in after)
            if cut in numbers:
                told = [event for event in seen if event.sequence_number <= cut]
                assert letters(told) + letters(after) == letters(whole) == words + "Bye."
            assert after[-1].type == "response.completed" and len(before) < len(whole)
        with pytest.raises(openai.BadRequestError, match="goes with"):
            await ai.responses.with_raw_response.retrieve(name, extra_query={"starting_after": 3})


def letters(events):
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


async def test_the_response_after_an_approval_has_its_own_id_and_its_own_numbers():
    words = "Ducks quack. " * 9
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply(words), Reply("Bye.")]
    async with office(*script) as bureau, client(bureau) as ai:
        asked = await ai.responses.create(model="turnlog", input="Pay")
        reply = {"type": "mcp_approval_response", "approve": True,
                 "approval_request_id": asked.output[-1].id}  # fmt: skip
        stream = await ai.responses.create(
            model="turnlog", input=[reply], previous_response_id=asked.id, stream=True
        )
        live = [event async for event in stream]
        name = live[0].response.id
        assert name != asked.id and live[0].sequence_number == 0
        whole = [event async for event in await ai.responses.retrieve(name, stream=True)]
        assert letters(whole) == letters(live) == words
        cut = next(event for event in live if event.type == "response.output_text.delta")
        cut = cut.sequence_number
        rest = await ai.responses.retrieve(name, stream=True, starting_after=cut)
        before = [event for event in live if event.sequence_number <= cut]
        assert letters(before) + letters([event async for event in rest]) == words
        final = live[-1].response
        assert (await ai.responses.retrieve(name)).output == final.output
        assert [item.type for item in final.output] == ["mcp_call", "message"]
        bye = await ai.responses.create(model="turnlog", input="Bye", previous_response_id=name)
        assert bye.output_text == "Bye."


async def test_a_program_runs_one_function_after_the_other():
    """The second call of a turn is the client's too, in both APIs."""
    calls = [Reply(ToolCall("ask_color", {"of": of})) for of in ("ducks", "geese")]
    about = {"name": "ask_color", "description": "Asks.", "parameters": COLOR}
    async with served(*calls, Reply("A."), *calls, Reply("B.")) as server, client(server) as ai:
        tools = [{"type": "function", **about}]
        told = await ai.responses.create(model="turnlog", input="Which?", tools=tools)
        for color in ("red", "grey"):
            (call,) = told.output
            result = {"type": "function_call_output", "call_id": call.call_id, "output": color}
            told = await ai.responses.create(
                model="turnlog", input=[result], previous_response_id=told.id, tools=tools
            )
        assert told.output_text == "A."
        tools, messages = (
            [{"type": "function", "function": about}],
            [{"role": "user", "content": "?"}],
        )
        for color in ("red", "grey", None):
            one = await ai.chat.completions.create(model="turnlog", messages=messages, tools=tools)
            said = one.choices[0].message
            if color is not None:
                (call,) = said.tool_calls
                result = {"role": "tool", "tool_call_id": call.id, "content": color}
                messages += [said.model_dump(), result]
        assert said.content == "B."


async def test_a_model_that_fails_is_an_error_of_the_server():
    async with served(invalid_request("No.")) as server, client(server) as ai:
        hi = [{"role": "user", "content": "Hi"}]
        with pytest.raises(openai.InternalServerError) as failed:
            await ai.chat.completions.create(model="turnlog", messages=hi)
        assert (failed.value.status_code, failed.value.type) == (502, "server_error")


async def test_errors_have_the_shape_that_these_clients_know():
    async with served(secret=SECRET) as server, client(server, "alice") as ai:
        for attempt, kind, status in (
            (ai.responses.create(model="gpt-5", input="Hi"), "invalid_request_error", 404),
            (ai.get("/nothing", cast_to=object), "invalid_request_error", 404),
            (ai.with_options(api_key="x").models.list(), "authentication_error", 401),
        ):
            with pytest.raises(openai.APIStatusError) as refused:
                await attempt
            error = refused.value
            assert (error.status_code, error.type) == (status, kind)
            assert (
                error.body.keys() == {"message", "type", "code", "param"} and error.body["message"]
            )


async def test_a_response_in_the_background_is_looked_at_later():
    script = [Reply("Slow.", ToolCall("wait")), Reply("Done.")]
    async with served(*script) as server, client(server) as ai:
        begun = await ai.responses.create(model="turnlog", input="Go", background=True)
        assert begun.status == "in_progress"
        server.go.set()
        await server.ended()
        assert (await ai.responses.retrieve(begun.id)).output_text == "Slow.Done."


async def test_bob_sees_nothing_of_alices():
    async with served(Reply("For Alice."), secret=SECRET) as server:
        async with client(server, "alice") as alice, client(server, "bob") as bob:
            one = await alice.responses.create(model="turnlog", input="Hi")
            for attempt in (
                bob.responses.retrieve(one.id),
                bob.responses.cancel(one.id),
                bob.conversations.items.list(one.conversation.id),
                bob.responses.create(model="turnlog", input="x", previous_response_id=one.id),
            ):
                with pytest.raises(openai.NotFoundError):
                    await attempt
            models = [model.id async for model in bob.models.list()]
            assert models == ["turnlog", "waiter", "other"]
            assert [(await bob.models.retrieve(name)).id for name in models] == models
            with pytest.raises(openai.NotFoundError, match="There is no model"):
                await bob.models.retrieve("gpt-5")
            with pytest.raises(openai.NotFoundError, match="There is no model"):
                await bob.responses.create(model="gpt-5", input="Hi")
        assert (await server.http.get("/v1/models")).status_code == 401
        listed = await server.http.get("/api/sessions", headers=as_user("bob"))
        assert listed.json()["sessions"] == []


@pytest.mark.slow
async def test_the_client_from_npm_works_as_well():
    script = [Reply("First."), Reply("Second."), Reply("Third."), Reply("Fourth.")]
    async with served(*script) as server:
        assert nodejs.package("openai")
        picture = "data:image/png;base64," + b64encode(made.picture("PNG", (9, 9))).decode()
        process = await asyncio.create_subprocess_exec(
            *(nodejs.node(), SCRIPT, nodejs.FOLDER, str(server.http.base_url).rstrip("/"), picture),
            stdout=subprocess.PIPE,
        )
        output, _ = await process.communicate()
    told = json.loads(output)
    assert told["models"][0] == "turnlog"
    assert [told[n] for n in ("first", "second", "chunks", "chat")] == [
        "First.", "Second.", "Third.", "Fourth."
    ]  # fmt: skip
    last = server.sim.requests[-1]
    assert (told["leftOut"], last["max_tokens"]) == ("temperature", 40)
    assert [block["type"] for block in last["messages"][0]["content"]] == ["image", "text"]
    assert told["types"][0] == "response.created" and told["types"][-1] == "response.completed"
