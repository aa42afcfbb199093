"""What the official OpenAI client says beside the question: limits, hints, files."""

from base64 import b64encode

import openai
import pytest
from protocols.doors import openai_client as client

from turnlog import Agent
from turnlog.simulator import Reply, ToolCall
from turnlog.testing import made_files as made
from turnlog.testing.apps import client_of, scripted_app, served
from turnlog.testing.office import office

REFUSED = [("tool_choice", "none"), ("store", False), ("stop", ["x"]), ("service_tier", "flex"),
           ("text", {"format": {"type": "json_object"}}), ("no_such_thing", 1)]  # fmt: skip
OLD = "claude-sonnet-4-5"  # it takes a temperature


async def test_nothing_is_left_out_silently():
    async with served(Reply("One."), Reply("Two.")) as server, client(server) as ai:
        for name, value in REFUSED:
            with pytest.raises(openai.BadRequestError, match=name) as refused:
                await ai.responses.create(model="turnlog", input="Hi", extra_body={name: value})
            body = refused.value.body
            assert (body["type"], body["param"]) == ("invalid_request_error", name)
        hi = [{"role": "user", "content": "Hi"}]
        for name, value in (("n", 2), ("logprobs", True), ("parallel_tool_calls", False)):
            with pytest.raises(openai.BadRequestError, match=f"'{name}' is not honoured"):
                await ai.chat.completions.create(model="turnlog", messages=hi, **{name: value})
        for name, value in (("temperature", 3), ("top_p", -1), ("max_tokens", 0), ("stop", ["\0"])):
            with pytest.raises(openai.BadRequestError):
                await ai.chat.completions.create(model="turnlog", messages=hi, **{name: value})
        harmless = {"temperature": 1, "top_p": 1.0, "n": 1, "seed": None, "store": True}
        raw = await ai.chat.completions.with_raw_response.create(
            model="turnlog", messages=hi, **harmless
        )
        assert "turnlog-left-out" not in raw.headers
        two = await ai.responses.create(
            model="turnlog", input="Hi", reasoning={"effort": "high"}, metadata={"a": "b"},
            include=["reasoning.encrypted_content"],
        )  # fmt: skip
        assert two.metadata == {"a": "b"}
        plain, thinking = server.sim.requests
        assert "thinking" in thinking and plain.get("thinking") != thinking["thinking"]


async def test_limits_and_hints_go_to_the_models_that_take_them():
    hi, wished = [{"role": "user", "content": "Hi"}], {"temperature": 0.7, "max_tokens": 50}
    agents = [Agent("new"), Agent("old", model=OLD)]
    replies = [Reply(f"{n}") for n in range(6)]
    async with scripted_app(*replies, agents=agents) as (app, sim), client_of(app) as http:
        base = str(http.base_url).rstrip("/")
        ai = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="none", http_client=http)
        chat = ai.chat.completions.with_raw_response
        others = {"stop": "END", "seed": 1, "user": "bob"}
        new = await chat.create(model="new", messages=hi, **wished, **others)
        assert new.headers["turnlog-left-out"] == "temperature, seed, user"
        old = await chat.create(model="old", messages=hi, **wished)
        assert "turnlog-left-out" not in old.headers
        thinks = await chat.create(model="old", messages=hi, **wished, reasoning_effort="high")
        assert thinks.headers["turnlog-left-out"] == "temperature"
        quiet = await chat.create(model="old", messages=hi, **wished, reasoning_effort="none")
        assert "turnlog-left-out" not in quiet.headers
        raw = await ai.responses.with_raw_response.create(
            model="old", input="Hi", top_p=0.5, max_output_tokens=99_999, prompt_cache_key="k"
        )
        assert raw.headers["turnlog-left-out"] == "prompt_cache_key"
        async with ai.responses.stream(model="new", input="Hi", temperature=0.2) as stream:
            assert (await stream.get_final_response()).output_text == "5"
        first, second, third, _, fourth, fifth = sim.requests
        assert (first["max_tokens"], first["stop_sequences"]) == (50, ["END"])
        assert "temperature" not in first and "temperature" not in third | fifth
        assert (second["max_tokens"], second["temperature"]) == (50, 0.7)
        assert (fourth["max_tokens"], fourth["top_p"]) == (8192, 0.5)


async def test_what_a_question_wished_for_holds_after_an_approval_too():
    script = [Reply("Sure.", ToolCall("pay", {"amount": 3})), Reply("Done.")]
    async with office(*script) as bureau, client(bureau) as ai:
        asked = await ai.responses.create(model="turnlog", input="Pay", max_output_tokens=77)
        reply = {"type": "mcp_approval_response", "approve": True,
                 "approval_request_id": asked.output[-1].id}  # fmt: skip
        await ai.responses.create(model="turnlog", input=[reply], previous_response_id=asked.id)
        assert [request["max_tokens"] for request in bureau.sim.requests] == [77, 77]


async def test_pictures_and_pdfs_come_as_these_clients_send_them():
    picture, letter = made.picture("PNG", (20, 20)), made.pdf("Dear Sir")
    image = "data:image/png;base64," + b64encode(picture).decode()
    pdf = "data:application/pdf;base64," + b64encode(letter).decode()
    replies = [Reply("One."), Reply("Two."), Reply("Three.")]
    async with served(*replies) as server, client(server) as ai:
        content = [
            {"type": "input_text", "text": "Look"},
            {"type": "input_image", "image_url": image, "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": pdf},
        ]
        one = await ai.responses.create(
            model="turnlog", input=[{"role": "user", "content": content}]
        )
        items = await ai.conversations.items.list(one.conversation.id, order="asc")
        assert [part.type for part in items.data[0].content] == [
            "input_text", "input_image", "input_file"
        ]  # fmt: skip
        parts = [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": image}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
        ]
        said = [{"role": "user", "content": parts}]
        await ai.chat.completions.create(model="turnlog", messages=said)
        said += [{"role": "assistant", "content": "Two."}, {"role": "user", "content": "Again?"}]
        await ai.chat.completions.create(model="turnlog", messages=said)
        for request in server.sim.requests:
            kinds = [block["type"] for block in request["messages"][0]["content"]]
            assert kinds == ["image", "document", "text"]
        broken = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,!!"}}]
        with pytest.raises(openai.BadRequestError, match="not base64"):
            await ai.chat.completions.create(
                model="turnlog", messages=[{"role": "user", "content": [parts[0], *broken]}]
            )
