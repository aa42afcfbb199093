"""Claude on Bedrock, Vertex and Foundry, against fakes of their wire formats."""

import sys
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from fake_clouds import Cloud, chunk, exception, frame
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog import Agent, Settings, create_app, tool
from turnlog.engines.claude.model import ClaudeModel
from turnlog.engines.claude.platforms import PLATFORMS
from turnlog.engines.claude.platforms.event_stream import EventStreamSplitter
from turnlog.errors import EngineFailed
from turnlog.ports import Prompt
from turnlog.simulator import Reply, SimulatedClaude, Thinking, ToolCall
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import kept_events

MODEL = "claude-sonnet-5-5"
OPTIONS = {
    "bedrock": {"aws_region": "eu-west-1", "aws_access_key": "AK", "aws_secret_key": "SK"},
    "vertex": {"region": "europe-west1", "project_id": "p1", "access_token": "at"},
    "foundry": {"api_key": "fk"},
}
EXPECTED = {
    "bedrock": (f"/model/{MODEL}/invoke-with-response-stream", "Authorization", "AWS4-HMAC-SHA256"),
    "vertex": (f"models/{MODEL}:streamRawPredict", "Authorization", "Bearer at"),
    "foundry": ("/v1/messages", "api-key", "fk"),
}


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


@asynccontextmanager
async def on(name, *entries, breaks=None):
    """An app whose Claude runs there, and what that cloud has seen."""
    sim = SimulatedClaude(*entries, pace=0)
    async with sim.serve() as url:
        cloud = Cloud(url, breaks)
        async with cloud.serve() as place:
            platform = replace(PLATFORMS[name], options=tuple(OPTIONS[name].items()))
            model = ClaudeModel(api_key="none", base_url=place, platform=platform)
            chosen, store = Settings(model=MODEL, api_key="none"), MemoryStore()
            agents = [Agent("a", tools=[look])]
            async with (app := create_app(agents, settings=chosen, store=store, engine=model)):
                yield app, cloud
    assert sim.refused == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_turn_with_thoughts_and_a_tool(name):
    script = [Reply(Thinking("Hm."), "Let me look.", ToolCall("look", {}, "toolu_1")), Reply("Ok.")]
    async with on(name, *script) as (app, cloud):
        result = await app.run_turn("Go", enable_thinking=True)
        kinds = [e.type for e in await kept_events(app.store, result.session_id)]
    assert result.error is None and result.text == "Ok." and result.usage.output_tokens > 0
    assert kinds == [
        "user_message_sent",
        "thinking",
        "message",
        "tool_use",
        "tool_result",
        "message",
    ]
    path, header, value = EXPECTED[name]
    for seen, headers, body in cloud.seen:
        assert seen.endswith(path) and headers[header].startswith(value)
        assert ("model" in body) == (name == "foundry")


@pytest.mark.slow
async def test_a_failure_in_mid_stream_at_bedrock_ends_the_turn_and_keeps_what_was_shown():
    breaks = exception("throttlingException", "Too many requests")
    async with on("bedrock", Reply("Half of it is here."), breaks=breaks) as (app, _):
        result = await app.run_turn("Go")
        events = await kept_events(app.store, result.session_id)
    assert (events[-1].code, events[-1].retryable) == ("rate_limited", True)
    assert [e.stop_reason for e in events if e.type == "message"] == ["interrupted"]


@pytest.mark.slow
async def test_a_platform_without_credentials_ends_the_turn_with_a_sentence(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_FOUNDRY_API_KEY", raising=False)
    model = ClaudeModel(
        api_key="none", base_url="http://127.0.0.1:9", platform=PLATFORMS["foundry"]
    )
    chosen = Settings(model=MODEL, api_key="none")
    async with (
        app := create_app([Agent("a")], settings=chosen, store=MemoryStore(), engine=model)
    ):
        result = await app.run_turn("Go")
    assert result.error.startswith("The model cannot be reached")


@given(cuts=st.lists(st.integers(0, 400), max_size=6))
@settings(max_examples=50, deadline=None)
def test_frames_may_be_cut_anywhere(cuts):
    events = [b'{"type": "ping"}', b'{"type": "message_stop"}', b'{"type": "x", "n": 1}']
    stream = b"".join(map(chunk, events))
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    splitter = EventStreamSplitter()
    pieces = [stream[a:b] for a, b in zip(places, places[1:], strict=False)]
    seen = [event for piece in pieces for event in splitter.feed(piece)]
    assert [event["type"] for event in seen] == ["ping", "message_stop", "x"]


def test_a_broken_or_endless_frame_is_refused():
    whole = bytearray(chunk(b'{"type": "ping"}'))
    whole[40] ^= 1
    with pytest.raises(EngineFailed):
        EventStreamSplitter().feed(bytes(whole))
    with pytest.raises(EngineFailed):
        EventStreamSplitter().feed(b"HTTP/1.1 200 OK\r\n\r\n")
    for deep in (frame({}, b"[" * 60_000), chunk(b"[" * 60_000)):
        with pytest.raises(EngineFailed):
            EventStreamSplitter().feed(deep)
    endless = frame({}, b"x" * 100)[:4].replace(b"\x00\x00\x00", b"\x7f\x00\x00")
    with pytest.raises(EngineFailed):
        EventStreamSplitter().feed(endless + b"\0" * 8)


async def test_a_library_that_could_not_be_loaded_is_tried_again(monkeypatch):
    """A disk that was full for a moment must not silence the server until somebody restarts it."""
    platform = replace(PLATFORMS["foundry"], options=tuple(OPTIONS["foundry"].items()))
    hi = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    prompt = Prompt(model=MODEL, system="", messages=[hi], max_tokens=100)
    async with SimulatedClaude(Reply("Hello."), pace=0).serve() as url, Cloud(url).serve() as place:
        model = ClaudeModel(api_key="none", base_url=place, platform=platform)
        with monkeypatch.context() as broken:
            broken.setitem(sys.modules, "anthropic", None)  # as if it could not be read
            await model.open()
            with pytest.raises(EngineFailed) as failed:
                await anext(model.call(prompt))
            assert (failed.value.code, failed.value.retryable) == ("no_sdk", True)
        assert [batch async for batch in model.call(prompt)]
        await model.close()
