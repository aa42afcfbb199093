"""Records what the API sends for each capability: every event, with its time and its request.

It asks the API directly, because a recording that is compared with our engine must not come from
it.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp

from turnlog.config import Settings
from turnlog.diagnosis.capabilities import RUN, Capability
from turnlog.diagnosis.captures import Capture, RecordedCall, frame, read_events
from turnlog.engines.claude.models import betas, thinking_parameters
from turnlog.engines.claude.stream import Call
from turnlog.errors import EngineFailed
from turnlog.simulator import SimulatedClaude

Json = dict[str, Any]
API = "https://api.anthropic.com"
MAX_TOKENS, BUDGET = 4096, 2048
MOST_CALLS = 8  # of one capability


async def capture(capability: Capability, settings: Settings) -> Capture:
    """Ask the question, run the tools that the model calls, and go on until it is done."""
    body = _request(capability, settings.model)
    headers = _headers(body if capability.interleaved else {}, settings)
    about = {
        "model": settings.model,
        "simulated": settings.simulated,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    recording = Capture(capability.name, [], about)
    async with _claude(capability, settings) as url, _client(settings) as client:
        for _ in range(MOST_CALLS):
            try:
                call = await _ask(client, url, headers, body)
            except aiohttp.ClientError as error:
                raise EngineFailed("not_captured", f"{url} cannot be reached: {error}.") from error
            recording.calls.append(call)
            if not (more := _next_messages(call)):
                return recording
            body = body | {"messages": [*body["messages"], *more]}
    return recording


@asynccontextmanager
async def _claude(capability: Capability, settings: Settings) -> AsyncIterator[str]:
    if not settings.simulated:
        yield (settings.base_url or API).rstrip("/")
        return
    async with SimulatedClaude(*capability.script).serve() as url:
        yield url


def _client(settings: Settings) -> aiohttp.ClientSession:
    """A client that uses the proxy of the environment, except for this machine."""
    limit = aiohttp.ClientTimeout(sock_read=120)
    return aiohttp.ClientSession(trust_env=not settings.simulated, timeout=limit)


def _request(capability: Capability, model: str) -> Json:
    content = [*capability.blocks, {"type": "text", "text": capability.question}]
    request: Json = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
        **thinking_parameters(model, BUDGET if capability.thinks else None, MAX_TOKENS),
        "stream": True,
    }
    return request | ({"tools": list(capability.tools)} if capability.tools else {})


def _headers(body: Json, settings: Settings) -> dict[str, str]:
    headers = {
        "x-api-key": settings.api_key or "none",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
    }
    if features := betas(body):
        headers["anthropic-beta"] = ",".join(features)
    return headers


async def _ask(
    client: aiohttp.ClientSession, url: str, headers: dict[str, str], body: Json
) -> RecordedCall:
    sent_at = time.perf_counter()
    async with client.post(f"{url}/v1/messages", json=body, headers=headers) as response:
        if response.status != 200:
            reply = (await response.text())[:500]
            raise EngineFailed("not_captured", f"The API answered {response.status}: {reply}.")
        call = RecordedCall(b"", body)
        rest = b""
        async for piece in response.content.iter_any():
            now = round((time.perf_counter() - sent_at) * 1000, 1)
            *frames, rest = (rest + piece.replace(b"\r\n", b"\n")).split(b"\n\n")
            call.timed += [(now, event) for each in frames for event in read_events(each)]
    call.body = b"".join(frame(event) for _, event in call.timed)
    return call


def _next_messages(call: RecordedCall) -> list[Json]:
    """The messages that go on with the conversation: the answer, and the results of its tools."""
    answer = Call()
    answer.feed(call.events)
    message = {"role": "assistant", "content": answer.blocks}
    if answer.stop_reason == "pause_turn":
        return [message]
    calls = [block for block in answer.blocks if block["type"] == "tool_use"]
    if answer.stop_reason != "tool_use" or not calls:
        return []
    return [message, {"role": "user", "content": [_result(call) for call in calls]}]


def _result(call: Json) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        return result | {"content": RUN[call["name"]](**call["input"])}
    except (LookupError, TypeError, ValueError) as error:
        return result | {"content": repr(error), "is_error": True}
