"""Every rule of the API that the simulator keeps, each with a request that breaks it."""

import json

import anthropic
import pytest

from turnlog.simulator import (
    Refused,
    Reply,
    SimulatedClaude,
    rules,
    sign,
)

KEY = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
OLD = "claude-haiku-4-5"  # takes budgets, sampling and prefill
NEW = "claude-sonnet-5-5"  # takes none of them


def body(*messages, **more):
    return {"model": NEW, "max_tokens": 4096, "messages": list(messages), **more}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def claude(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(said):
    return {"type": "text", "text": said}


def call(id="toolu_1", **more):
    return {"type": "tool_use", "id": id, "name": "look", "input": {}, **more}


def result(id="toolu_1", content="seen", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def thought(said="hm", signature=None):
    return {"type": "thinking", "thinking": said, "signature": signature or sign(said)}


def tool(name="look", **more):
    return {"name": name, "input_schema": {"type": "object"}, **more}


def image(size=8, media_type="image/png"):
    source = {"type": "base64", "media_type": media_type, "data": "A" * size}
    return {"type": "image", "source": source}


def document(cites):
    source = {"type": "text", "media_type": "text/plain", "data": "Quack."}
    return {"type": "document", "source": source, "citations": {"enabled": cites}}


def search(id="srvtoolu_1"):
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "a"}}


def found(id="srvtoolu_1"):
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


HI = user(text("Hi"))


def answer(*messages, **more):
    """A request in which Claude has called a tool, and what comes next."""
    return body(HI, claude(call()), *messages, **more)


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BUDGET = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive"}
ANY = {"type": "any"}
B = {"type": "tool", "name": "b"}
JSON = {"format": {"type": "json_schema"}}

# fmt: off
BROKEN = {
    # parameters
    "no model":             ({"max_tokens": 1, "messages": [HI]}, "model: Field required"),
    "model is a number":    (body(HI, model=5), "model: Input should be a valid string"),
    "model is empty":       (body(HI, model=""), "model: String should have at least 1 character"),
    "no max_tokens":        ({"model": NEW, "messages": [HI]}, "max_tokens: Field required"),
    "max_tokens is text":   (body(HI, max_tokens="9"),
        "max_tokens: Input should be a valid integer"),
    "max_tokens is zero":   (body(HI, max_tokens=0), "max_tokens: Input should be greater"),
    "unknown parameter":    (body(HI, xyz=1), "xyz: Extra inputs are not permitted"),
    "beta without header":  (body(HI, mcp_servers=[]),
        "mcp_servers: Extra inputs are not permitted"),
    "sampling, new model":  (body(HI, temperature=0.5),
        "`temperature` is deprecated for this model"),
    "top_k, new model":     (body(HI, model="claude-opus-4-7", top_k=5), "`top_k` is deprecated"),
    "temperature too high": (body(HI, model=OLD, temperature=1.5), "temperature: range: 0..1"),
    # messages
    "no messages":          (body(), "messages: at least one message is required"),
    "messages is text":     ({**body(), "messages": "Hi"}, "messages: Input should be a valid"),
    "assistant first":      (body(claude(text("Hi"))), 'first message must use the "user" role'),
    "two users in a row":   (body(HI, HI), "messages.1: roles must alternate"),
    "a system message":     (body({"role": "system", "content": "x"}),
        "messages.0.role: Input should"),
    "no content":           (body({"role": "user"}), "messages.0.content: Field required"),
    "content is a number":  (body({"role": "user", "content": 5}),
        "messages.0.content: Input should"),
    "empty content":        (body(HI, claude(), HI),
        "messages.1: all messages must have non-empty content"),
    "empty string":         (body({"role": "user", "content": ""}),
        "messages.0: all messages must have"),
    "empty text":           (body(user(text("a"), text(""))),
        "messages.0.content.1: text content blocks must be non-empty"),
    "white text":           (body(user(text(" \n"))),
        "messages.0.content.0: text content blocks must contain non-whitespace"),
    "white string":         (body({"role": "user", "content": "  "}),
        "messages.0.content: text content blocks must contain"),
    "empty text in result": (answer(user(result(content=[text("")]))),
        "messages.2.content.0.content.0: text content"),
    "empty system":         (body(HI, system=[text("a"), text("")]),
        "system.1: text content blocks must be non-empty"),
    "block without a type": (body(user({"text": "Hi"})),
        "messages.0.content.0.type: Field required"),
    "unknown block":        (body(user({"type": "poem"})),
        "messages.0.content.0: Input tag 'poem'"),
    "call by the user":     (body(user(call())), "messages.0.content.0: Input tag 'tool_use'"),
    "result by claude":     (body(HI, claude(result())),
        "messages.1.content.0: Input tag 'tool_result'"),
    "prefill, new model":   (body(HI, claude(text("Sure"))),
        "does not support assistant message prefill"),
    "prefill with space":   (body(HI, claude(text("Sure ")), model=OLD),
        "cannot end with trailing whitespace"),
    # calls and results
    "unanswered call":      (answer(HI),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"),
    "unanswered last call": (answer(model=OLD), "messages.1: `tool_use` ids were found without"),
    "one of two answered":  (body(HI, claude(call("a"), call("b")), user(result("a"))),
        "immediately after: b."),
    "answered too late":    (answer(HI, claude(text("x")), user(result())),
        "messages.1: `tool_use` ids"),
    "answered twice":       (answer(user(result(), result())),
        "messages.2.content.0: each tool_use must have a single result"),
    "answer to nothing":    (body(user(result())),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
    "answer to another":    (answer(user(result(), result("b"))),
        "messages.2.content.1: unexpected `tool_use_id`"),
    "text before results":  (answer(user(text("a"), result())),
        "messages.2.content.1: `tool_result` blocks must come first"),
    "the same id twice":    (body(HI, claude(call(), call()), user(result())),
        "messages.1.content.1: `tool_use` ids must be unique"),
    "an id with a dot":     (body(HI, claude(call("a.b")), user(result("a.b"))),
        "messages.1.content.0.tool_use.id: String should match pattern"),
    "input is a list":      (body(HI, claude(call(input=[])), user(result())),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
    "call without a name":  (body(HI, claude(call(name="")), user(result())),
        "messages.1.content.0.tool_use.name: Field required"),
    "failed with an image": (answer(user(result(content=[image()], is_error=True))),
        'messages.2.content.0.tool_result: all content must be type "text"'),
    "result is a number":   (answer(user(result(content=5))),
        "messages.2.content.0.tool_result.content: Input should"),
    "found, not searched":  (body(HI, claude(found(), text("x")), HI),
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result`"),
    "searched, not found":  (body(HI, claude(search(), text("x")), HI),
        "messages.1.content.0: `web_search` tool use with id `srvtoolu_1` was found without"),
    # thinking
    "budget, new model":    (body(HI, thinking=BUDGET),
        '"thinking.type.enabled" is not supported for this model'),
    "disabled, new model":  (body(HI, model="claude-opus-5-5", thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported'),
    "adaptive, old model":  (body(HI, model=OLD, thinking=ADAPTIVE),
        "adaptive thinking is not supported on this model"),
    "unknown thinking":     (body(HI, thinking={"type": "deep"}), "thinking: Input tag 'deep'"),
    "thinking, no type":    (body(HI, thinking={}), "thinking.type: Field required"),
    "no budget":            (body(HI, model=OLD, thinking={"type": "enabled"}),
        "thinking.enabled.budget_tokens: Field required"),
    "a small budget":       (body(HI, model=OLD, thinking=BUDGET | {"budget_tokens": 1023}),
        "budget_tokens: Input should be greater than or equal to 1024"),
    "a budget of it all":   (body(HI, model=OLD, thinking=BUDGET, max_tokens=2000),
        "`max_tokens` must be greater than `thinking.budget_tokens`"),
    "thinking and forced":  (body(HI, model=OLD, thinking=BUDGET, tools=[tool()], tool_choice=ANY),
        "Thinking may not be enabled when tool_choice forces"),
    "forced, new model":    (body(HI, tools=[tool()], tool_choice=ANY),
        'tool_choice: "any" is not supported'),
    "changed thought":      (body(HI, claude(thought("b", sign("a")), text("x")), HI),
        "messages.1.content.0: Invalid `signature` in `thinking` block"),
    "empty signature":      (body(HI, claude({**thought(), "signature": ""}, text("x")), HI),
        "messages.1.content.0: Invalid `signature`"),
    "no signature":         (body(HI, claude({"type": "thinking", "thinking": "a"}), HI),
        "messages.1.content.0.thinking.signature: Field required"),
    "empty redacted":       (body(HI, claude({"type": "redacted_thinking", "data": ""}), HI),
        "messages.1.content.0: Invalid `data`"),
    "loop without thought": (answer(user(result()), model=OLD, thinking=BUDGET),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found"),
    # tools
    "tools of one name":    (body(HI, tools=[tool(), tool()]), "tools: Tool names must be unique"),
    "a name with a space":  (body(HI, tools=[tool("a b")]),
        "tools.0.custom.name: String should match pattern"),
    "a name too long":      (body(HI, tools=[tool("a" * 129)]),
        "tools.0.custom.name: String should match pattern"),
    "tool without a name":  (body(HI, tools=[{"input_schema": {}}]),
        "tools.0.custom.name: Field required"),
    "no schema":            (body(HI, tools=[tool(), {"name": "b"}]),
        "tools.1.custom.input_schema: Field required"),
    "schema without type":  (body(HI, tools=[tool(input_schema={})]),
        "tools.0.custom.input_schema.type: Field required"),
    "schema of an array":   (body(HI, tools=[tool(input_schema={"type": "array"})]),
        "tools.0.custom.input_schema.type: Input should be 'object'"),
    "tools are texts":      (body(HI, tools=["look"]), "Input does not match the expected shape"),
    "choice without tools": (body(HI, tool_choice={"type": "auto"}),
        "tool_choice may only be specified while providing `tools`"),
    "choice of another":    (body(HI, model=OLD, tools=[tool()], tool_choice=B),
        "Tool 'b' not found in provided tools"),
    # files and the cache
    "an image too large":   (body(user(image(5 * 1024 * 1024 + 1))),
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum"),
    "a large one, inside":  (answer(user(result(content=[image(5_242_881)]))),
        "messages.2.content.0.content.0.image.source.base64: image exceeds"),
    "a TIFF":               (body(user(image(media_type="image/tiff"))),
        "messages.0.content.0.image.source.base64.media_type: Input should be"),
    "an empty image":       (body(user(image(0))),
        "messages.0.content.0.image.source.base64.data: image cannot be empty"),
    "one of two cites":     (body(user(document(True), document(False), text("a"))),
        "citations must be enabled on all or none"),
    "cites and structured": (body(user(document(True), text("a")), output_config=JSON),
        "citations cannot be used with structured outputs"),
    "five breakpoints":     (body(user(*[text("a") | MARK] * 4), system=[text("s") | MARK]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5"),
    "an hour too late":     (body(user(text("a") | HOUR), system=[text("s") | MARK]),
        "a ttl='1h' cache_control block must not come after"),
}

FINE = {
    "plain":                body({"role": "user", "content": "Hi"}),
    "a call answered":      body(HI, claude(text("x"), call()), user(result(), text("and?"))),
    "two answers, swapped": body(HI, claude(call("a"), call("b")), user(result("b"), result("a"))),
    "a tool that is gone":  answer(user(result()), tools=[tool("other")]),
    "an empty result":      answer(user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    "a thought replayed":   body(HI, claude(thought(), call()), user(result()), thinking=ADAPTIVE),
    "an omitted thought":   body(HI, claude(thought(""), text("x")), HI),
    "a foreign signature":  body(HI, claude(thought("a", "EqQBCkYI"), text("x")), HI),
    "a loop with a budget": body(HI, claude(thought(), call("a")), user(result("a")),
                                 claude(call("b")), user(result("b")), model=OLD, thinking=BUDGET),
    "a budget, no loop":    body(HI, claude(text("x")), HI, model=OLD, thinking=BUDGET),
    "adaptive, no thought": answer(user(result()), thinking=ADAPTIVE),
    "prefill, old model":   body(HI, claude(text("Sure")), model=OLD),
    "a paused turn":        body(HI, claude(text("Let me search"), search())),
    "a turn searched":      body(HI, claude(search(), found(), text("x")), HI),
    "sampling, old model":  body(HI, model=OLD, temperature=0.5, top_k=5),
    "a model not known":    body(HI, model="my-model", temperature=0.5, thinking=BUDGET),
    "a server's tool":      body(HI, tools=[{"type": "web_search_20260318", "name": "web_search"}]),
    "all documents cite":   body(user(document(True), document(True), text("a"))),
    "four breakpoints":     body(user(*[text("a") | MARK] * 3), system=[text("s") | HOUR]),
}
# fmt: on


def check(request, headers=KEY):
    return rules.check(headers, json.dumps(request).encode())


@pytest.mark.parametrize(("request_body", "named"), BROKEN.values(), ids=BROKEN)
def test_a_broken_request_is_refused_with_its_place(request_body, named):
    with pytest.raises(Refused) as refused:
        check(request_body)
    assert (refused.value.status, refused.value.type) == (400, "invalid_request_error")
    assert named in refused.value.message


@pytest.mark.parametrize("request_body", FINE.values(), ids=FINE)
def test_a_good_request_passes_unchanged(request_body):
    assert check(request_body) == request_body


# fmt: off
HEADERS = {
    "no key":      ({"anthropic-version": "1"}, 401, "x-api-key header is required"),
    "empty token": (KEY | {"authorization": "Bearer "}, 401, "x-api-key header is required"),
    "no version":  ({"x-api-key": "k"}, 400, "anthropic-version: header is required"),
}
BODIES = {
    "not JSON":    (b'{"model": ', 400, "not valid JSON"),
    "a list":      (b"[]", 400, "Input should be a valid dictionary"),
    "too large":   (b" " * (32 * 1024 * 1024 + 1), 413, "Request exceeds the maximum size"),
}
# fmt: on


@pytest.mark.parametrize(("headers", "status", "named"), HEADERS.values(), ids=HEADERS)
def test_a_request_needs_its_headers(headers, status, named):
    with pytest.raises(Refused, match=named) as refused:
        check(body(HI), headers)
    assert refused.value.status == status


@pytest.mark.parametrize(("raw", "status", "named"), BODIES.values(), ids=BODIES)
def test_a_body_is_an_object_of_some_size(raw, status, named):
    with pytest.raises(Refused, match=named) as refused:
        rules.check(KEY, raw)
    assert refused.value.status == status


def test_both_kinds_of_key_are_taken():
    assert check(body(HI), {"x-api-key": "k", "anthropic-version": "2023-06-01"})
    assert check(body(HI), {"authorization": "Bearer k", "anthropic-version": "2023-06-01"})


def test_a_beta_parameter_needs_its_header():
    assert check(body(HI, mcp_servers=[]), KEY | {"anthropic-beta": "mcp-client-2026-09-15"})


async def test_a_long_conversation_is_accepted_through_the_client():
    sim = SimulatedClaude(Reply("Done"))
    turns = [
        message
        for n in range(200)
        for message in (
            user(*([result(f"toolu_{n - 1}")] if n else []), text(f"Go on {n}")),
            claude(
                thought(f"hm {n}"), text(f"Yes {n}"), call(f"toolu_{n}", caller={"type": "direct"})
            ),
        )
    ]
    ask = body(*turns, user(result("toolu_199"), text("End")), tools=[tool()], system="Be kind.")
    async with (
        sim.serve() as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        answer = await client.messages.create(**ask, thinking=ADAPTIVE)
    assert answer.content[0].text == "Done"
    assert sim.requests[0]["messages"] == ask["messages"]


async def test_a_refusal_reaches_the_client_as_its_own_error():
    sim = SimulatedClaude()
    async with (
        sim.serve() as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        with pytest.raises(
            anthropic.BadRequestError, match="messages.1: `tool_use` ids were found"
        ):
            await client.messages.create(**answer(HI))
    assert [refused.status for refused in sim.refused] == [400]
