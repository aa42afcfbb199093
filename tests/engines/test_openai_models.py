"""Models that speak OpenAI's API, and break off, are cut short or fail."""

import asyncio
import json

import pytest
from aiohttp import web
from aiohttp_server import listening
from fake_openai import DONE, FakeOpenAI, FakeResponses, calls, chunk, says
from graphs import check

from turnlog import Agent, Settings, create_app, tool
from turnlog.engines.openai_agents.models import openai_model
from turnlog.stores.memory.store import MemoryStore
from turnlog.transports import wire

pytestmark = pytest.mark.slow  # imports the SDK


def responses(text, without=0, ending=None):
    """The frames of an answer by the Responses API, without its last ones, or with another end."""
    fake = FakeResponses()
    frames = list(fake._frames(text))
    return frames[: len(frames) - without] + ([ending] if ending else [])


def incomplete(text):
    whole = json.loads(responses(text)[-1].partition(b"data: ")[2])
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    event = whole | {"type": "response.incomplete", "response": whole["response"] | cut}
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


ERROR = b'event: error\ndata: {"type": "error", "code": "x", "message": "hush", "param": null}\n\n'
INCOMPLETE = incomplete("Half")
SHORT, FILTERED = chunk({}, "length"), chunk({}, "content_filter")
CHAT, RESPONSES = ("chat", FakeOpenAI), ("responses", FakeResponses)

# name -> by which API, the frames, and how the turn ends
# fmt: off
ENDS = {
    "a text that breaks off":     (CHAT, [says("Half")], "stream_cut"),
    "a text without its reason":  (CHAT, [says("Half"), DONE], "stream_cut"),
    "nothing at all":             (CHAT, [], "stream_cut"),
    "a call that breaks off":     (CHAT, [calls("wipe", "")], "stream_cut"),
    "a call that is cut short":   (CHAT, [calls("wipe", ""), SHORT, DONE], "max_tokens"),
    "a text that is cut short":   (CHAT, [says("Half"), SHORT, DONE], "max_tokens"),
    "cut before the first word":  (CHAT, [says(""), SHORT, DONE], "max_tokens"),
    "a text that is filtered":    (CHAT, [says("Half"), FILTERED, DONE], "refusal"),
    "no JSON":                    (CHAT, [b"data: {nope\n\n"], "unreadable"),
    "half a surrogate pair":      (CHAT, [says("a \ud83d b"), chunk({}, "stop"), DONE], "end_turn"),
    "far more than was allowed":  (CHAT, [says("x" * 1_000_000)] * 9, "answer_too_long"),
    "responses, broken off":      (RESPONSES, responses("Half an answer", 4), "stream_cut"),
    "responses, cut short":       (RESPONSES, responses("Half", 1, INCOMPLETE), "max_tokens"),
    "responses, an error":        (RESPONSES, responses("Half", 4, ERROR), "provider_error"),
}
# fmt: on


wiped = []


@tool(writes=True, approval="never")
async def wipe() -> None:
    """Wipe everything."""
    wiped.append(1)


async def turn(url, api):
    """What was shown of one turn; the log is proven."""
    model = openai_model("gpt", base_url=url, api_key="k", api=api)
    settings, agent = Settings(api_key="none"), Agent("clerk", tools=[wipe])
    app = create_app([agent], settings=settings, store=MemoryStore(), engine=model)
    async with app, asyncio.timeout(30):
        result = await app.run_turn("Hi")
        live = [wire.decode(wire.encode(entry)) for entry in result.events]
        await check(app, result.session_id, live)
    return live


@pytest.mark.parametrize(("server", "frames", "end"), ENDS.values(), ids=ENDS.keys())
async def test_an_answer_ends_as_its_provider_says(server, frames, end):
    wiped.clear()
    api, fake = server
    async with fake(frames).serve() as url:
        live = await turn(url, api)
    assert (live[-1].get("code") or live[-1]["stopReason"]) == end
    assert "hush" not in str(live)
    assert wiped == []


BAD_REQUEST = {"error": {"message": "hush", "code": "context_length_exceeded"}}


@pytest.mark.parametrize(
    ("status", "body", "code", "again"),
    [
        (400, {}, "invalid_request", False),
        (400, BAD_REQUEST, "context_exceeded", True),
        (401, {}, "invalid_key", False),
        (403, {}, "not_permitted", False),
        (404, {}, "unknown_model", False),
    ],
)
async def test_a_refusal_has_the_code_that_it_has_with_claude(status, body, code, again):
    async def refuse(request):
        return web.json_response(body, status=status)

    async with listening(refuse, FakeOpenAI.path) as url:
        last = (await turn(f"{url}/v1", "chat"))[-1]
    assert (last["code"], last["retryable"], "hush" in str(last)) == (code, again, False)
