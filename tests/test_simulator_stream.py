"""What the script says is what Anthropic's own client reads, block by block and byte by byte."""

import asyncio
import json
import time

import anthropic
import httpx2
import pytest
from claude_request import ASK, KEY

from turnlog.simulator import (
    Break,
    Cut,
    RawBlock,
    RedactedThinking,
    Reply,
    SimulatedClaude,
    Stall,
    Text,
    Thinking,
    ToolCall,
    Usage,
    sign,
    stream,
)

CITATION = {
    "type": "char_location",
    "cited_text": "Quack.",
    "document_index": 0,
    "document_title": "Ducks",
    "file_id": None,
    "start_char_index": 0,
    "end_char_index": 6,
}
PAGE = CITATION | {"type": "page_location", "start_page_number": 1, "end_page_number": 2}
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "ducks"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "title": "Ducks",
            "url": "https://ducks.example",
            "encrypted_content": "abc",
            "page_age": None,
        }
    ],
}

CALLED = {"type": "tool_use", "id": "toolu_1", "name": "look", "caller": {"type": "direct"}}
SIGNED = {"type": "thinking", "thinking": "Let me see", "signature": sign("Let me see")}

# fmt: off
BLOCKS = [
    (Text("Hello, world. Grüße!"), {"type": "text", "text": "Hello, world. Grüße!"}),
    (Text(""), {"type": "text", "text": ""}),
    (Text("Quack", (CITATION,)), {"type": "text", "text": "Quack", "citations": [CITATION]}),
    (Thinking("Let me see"), SIGNED),
    (Thinking("", "own"), {"type": "thinking", "thinking": "", "signature": "own"}),
    (RedactedThinking("xyz"), {"type": "redacted_thinking", "data": "xyz"}),
    (ToolCall("look", {"at": ["a", None]}, "toolu_1"), CALLED | {"input": {"at": ["a", None]}}),
    (ToolCall("look", {}, "toolu_1"), CALLED | {"input": {}}),
    (RawBlock(SEARCH), SEARCH),
    (RawBlock(FOUND), FOUND),
]
# fmt: on


@pytest.fixture
async def sim():
    return SimulatedClaude(pace=0)


@pytest.fixture
async def claude(sim):
    async with (
        sim.serve() as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        yield client


async def read(claude, **more):
    """Every raw event that the client yields."""
    return [e async for e in await claude.messages.create(stream=True, **{**ASK, **more})]


async def final(claude):
    async with claude.messages.stream(**ASK) as stream:
        return await stream.get_final_message()


def plain(block):
    return block.model_dump(mode="json", exclude_unset=True)


@pytest.mark.parametrize(("block", "expected"), BLOCKS, ids=lambda b: type(b).__name__)
async def test_a_block_arrives_as_it_was_scripted(sim, claude, block, expected):
    sim.queue(Reply(block, chunk=3), Reply(block))
    streamed = await final(claude)
    at_once = await claude.messages.create(**ASK)
    assert [plain(b) for b in streamed.content] == [expected]
    assert [plain(b) for b in at_once.content] == [expected]


async def test_all_blocks_together_keep_their_order(sim, claude):
    blocks = [block for block, _ in BLOCKS]
    sim.queue(*[Reply(*blocks, id="msg_1", model="claude-x")] * 2)
    streamed, at_once = await final(claude), await claude.messages.create(**ASK)
    assert [plain(b) for b in streamed.content] == [expected for _, expected in BLOCKS]
    assert [plain(b) for b in at_once.content] == [expected for _, expected in BLOCKS]
    assert (streamed.id, streamed.model, streamed.stop_reason) == ("msg_1", "claude-x", "tool_use")
    assert (at_once.id, at_once.model, at_once.stop_reason) == ("msg_1", "claude-x", "tool_use")


async def test_events_come_in_the_order_of_the_api(sim, claude):
    sim.queue(Reply(Thinking("ab"), Text("cd", (CITATION, PAGE)), ToolCall("t", {"a": 1}), chunk=1))
    kinds = [
        e.delta.type if e.type == "content_block_delta" else e.type for e in await read(claude)
    ]
    begin, end = "content_block_start", "content_block_stop"
    # fmt: off
    assert kinds == [
        "message_start",
        begin, "thinking_delta", "thinking_delta", "signature_delta", end,
        begin, "citations_delta", "citations_delta", "text_delta", "text_delta", end,
        begin, *["input_json_delta"] * 8, end,
        "message_delta", "message_stop",
    ]
    # fmt: on


async def test_on_the_wire_each_event_has_its_name_and_one_ping(sim, claude):
    sim.queue(Reply("Hi"))
    body = ASK | {"stream": True}
    async with httpx2.AsyncClient(timeout=60, base_url=claude.base_url) as client:
        answer = await client.post("/v1/messages?beta=true", json=body, headers=KEY)
    frames = [frame.split("\n") for frame in answer.text.removesuffix("\n\n").split("\n\n")]
    assert [name.removeprefix("event: ") for name, _ in frames] == [
        json.loads(data.removeprefix("data: "))["type"] for _, data in frames
    ]
    assert [name for name, _ in frames][1:3] == ["event: content_block_start", "event: ping"]
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"


@pytest.mark.parametrize(("chunk", "pieces"), [(1, 10), (3, 4), (10, 1), (999, 1)])
async def test_text_is_cut_in_pieces_of_the_asked_size(sim, claude, chunk, pieces):
    sim.queue(Reply("0123456789", chunk=chunk))
    texts = [e.delta.text for e in await read(claude) if e.type == "content_block_delta"]
    assert len(texts) == pieces
    assert "".join(texts) == "0123456789"


async def test_tool_json_can_be_broken_off(sim, claude):
    sim.queue(Reply(ToolCall("t", raw_json='{"a": '), stop_reason="max_tokens", chunk=2))
    events = await read(claude)
    parts = [e.delta.partial_json for e in events if e.type == "content_block_delta"]
    assert parts == ["", '{"', 'a"', ": "]
    assert events[-2].delta.stop_reason == "max_tokens"


async def test_ids_are_fresh_when_they_are_not_given(sim, claude):
    sim.queue(Reply(ToolCall("t")), Reply(ToolCall("t")))
    first, second = await final(claude), await final(claude)
    assert first.id != second.id
    assert first.content[0].id != second.content[0].id
    assert first.id.startswith("msg_")
    assert first.content[0].id.startswith("toolu_")
    assert first.model == ASK["model"]


async def test_the_stop_reason_carries_its_details(sim, claude):
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    sim.queue(Reply("", stop_reason="refusal", stop_details=details))
    sim.queue(Reply("ab", stop_reason="stop_sequence", stop_sequence="X"))
    refused, stopped = await final(claude), await final(claude)
    assert plain(refused.stop_details) == details
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "X")


async def test_usage_is_split_at_the_start_and_cumulative_at_the_end(sim, claude):
    usage = Usage(
        input_tokens=20,
        output_tokens=99,
        final_input_tokens=500,
        cache_write_5m=3,
        cache_write_1h=4,
        cache_read=1000,
        thinking_tokens=60,
        web_searches=2,
    )
    sim.queue(Reply(Thinking("hm"), Text("ok"), usage=usage))
    events = await read(claude)
    assert plain(events[0].message.usage) == {
        "input_tokens": 20,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 1000,
        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
        "output_tokens": 1,
        "service_tier": "standard",
        "inference_geo": "global",
    }
    assert plain(events[-2].usage) == {
        "input_tokens": 500,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 1000,
        "output_tokens": 99,
        "output_tokens_details": {"thinking_tokens": 60},
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
    }


async def test_usage_is_estimated_when_it_is_not_given(sim, claude):
    sim.queue(Reply("x" * 400), Reply(Thinking("x" * 400), usage=Usage(cache_read=10**6)))
    short, thought = await final(claude), await final(claude)
    assert short.usage.output_tokens == 101
    assert short.usage.input_tokens > 1
    assert thought.usage.input_tokens == 1  # all of it was read from the cache


def test_the_finished_message_says_what_the_stream_adds_up_to():
    reply = Reply(Thinking("hm"), "ok", id="msg_1", usage=Usage(final_input_tokens=70))
    whole, events = stream.message(reply, ASK), list(stream.events(reply, ASK))
    added_up = events[0]["message"]["usage"] | events[-2]["usage"]
    assert added_up == whole["usage"]


# --- streams that do not end well ---


async def test_a_cut_closes_the_connection_in_the_middle(sim, claude):
    sim.queue(Reply("0123456789", chunk=1, ending=Cut(after=5)))
    seen = []
    with pytest.raises(httpx2.RemoteProtocolError):
        async for event in await claude.messages.create(stream=True, **ASK):
            seen.append(event.type)
    assert seen == ["message_start", "content_block_start", *["content_block_delta"] * 2]


async def test_a_clean_cut_ends_the_response_but_not_the_message(sim, claude):
    sim.queue(Reply("0123456789", chunk=5, ending=Cut(after=5, clean=True)))
    seen = [event.type for event in await read(claude)]  # the client does not complain
    assert seen == ["message_start", "content_block_start", *["content_block_delta"] * 2]


async def test_a_cut_after_nothing_and_without_a_stream(sim, claude):
    sim.queue(Reply("Hi", ending=Cut(after=0)), Reply("Hi", ending=Cut(after=0)))
    with pytest.raises(httpx2.RemoteProtocolError):
        await read(claude)
    with pytest.raises((httpx2.HTTPError, anthropic.APIConnectionError)):
        await claude.messages.create(**ASK)


async def test_no_log_line_tells_of_a_cut(sim, claude, caplog, capfd):
    sim.queue(Reply("Hi", ending=Cut(after=3)))
    with pytest.raises(httpx2.RemoteProtocolError):
        await read(claude)
    assert [r for r in caplog.records if r.name.startswith("uvicorn")] == []
    assert capfd.readouterr() == ("", "")


async def test_a_stall_is_a_pause_before_the_rest(sim, claude):
    sim.queue(Reply("abc", chunk=1, ending=Stall(after=4, seconds=0.2)))
    begun = time.monotonic()
    events = await read(claude)
    assert time.monotonic() - begun >= 0.2
    assert events[-1].type == "message_stop"
    sim.queue(Reply("abc", chunk=1, ending=Stall(after=4, seconds=600)))
    async with asyncio.timeout(60):  # what comes before it does not wait
        events = await claude.messages.create(stream=True, **ASK)
        while (event := await anext(events)).type != "content_block_delta":
            pass
        assert event.delta.text == "a"
        await events.close()


async def test_a_stall_runs_into_the_clients_timeout(sim, claude):
    sim.queue(Reply("abc", ending=Stall(after=2, seconds=60)))
    hasty = claude.with_options(timeout=httpx2.Timeout(60, read=0.1))
    # The second one on a machine that takes so long for the head of the response.
    with pytest.raises((httpx2.ReadTimeout, anthropic.APITimeoutError)):
        await read(hasty)


async def test_a_break_is_an_error_event(sim, claude):
    sim.queue(Reply("Hi", ending=Break(after=3)), Reply("Hi", ending=Break(after=3)))
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await read(claude)
    with pytest.raises(anthropic.APIStatusError) as raised:
        await claude.messages.create(**ASK)
    assert raised.value.status_code == 529


async def test_delays_come_before_the_first_event_and_between_events(sim, claude):
    sim.queue(Reply("abcdef", chunk=1, delay=0.02, first_delay=0.1))
    begun = time.monotonic()
    events = await claude.messages.create(stream=True, **ASK)
    await anext(events)
    assert time.monotonic() - begun >= 0.1
    assert len([e async for e in events]) == 10
    assert time.monotonic() - begun >= 0.1 + 10 * 0.02


async def test_a_client_that_leaves_ends_the_stream(sim, claude):
    sim.queue(Reply("x" * 1000, chunk=1, delay=0.01), Reply("Hi"))
    events = await claude.messages.create(stream=True, **ASK)
    await anext(events)
    await events.close()
    assert (await final(claude)).content[0].text == "Hi"


async def test_fifty_streams_at_once_do_not_mix(sim, claude):
    sim.queue(*[lambda body: Reply(body["messages"][0]["content"] * 20, chunk=2)] * 50)

    async def ask(number):
        words = [{"role": "user", "content": f"<{number}>"}]
        events = await read(claude, messages=words)
        return "".join(e.delta.text for e in events if e.type == "content_block_delta")

    said = await asyncio.gather(*map(ask, range(50)))
    assert said == [f"<{number}>" * 20 for number in range(50)]
