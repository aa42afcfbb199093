"""Records what the API sends for each capability: every event, with its time and its request.

Asked directly, past the engine: what is compared with our pipeline must not come from it.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp

from turnlog.config import Settings
from turnlog.diagnosis.capabilities import RUN, Capability
from turnlog.diagnosis.captures import (
    Capture,
    Recorded,
    framed,
    parsed,
)
from turnlog.engines.claude.models import betas, thinking_parameters
from turnlog.engines.claude.stream import Call
from turnlog.errors import EngineFailed
from turnlog.simulator import SimulatedClaude

Json = dict[str, Any]
API = "https://api.anthropic.com"
MAX_TOKENS, BUDGET = 4096, 2048
MOST_CALLS = 8  # of one capability


async def capture(capability: Capability, settings: Settings) -> Capture:
    """Ask, run the tools that are asked for, and go on until the model is done."""
    body = _request(capability, settings.model)
    headers = _headers(body if capability.interleaved else {}, settings)
    about = {
        "model": settings.model,
        "simulated": settings.simulated,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    recorded = Capture(capability.name, [], about)
    async with _claude(capability, settings) as url, _client(settings) as client:
        for _ in range(MOST_CALLS):
            try:
                call = await _ask(client, url, headers, body)
            except aiohttp.ClientError as error:
                raise EngineFailed("not_captured", f"{url} cannot be reached: {error}.") from error
            recorded.calls.append(call)
            if not (more := _more(call)):
                return recorded
            body = body | {"messages": [*body["messages"], *more]}
    return recorded


@asynccontextmanager
async def _claude(capability: Capability, settings: Settings) -> AsyncIterator[str]:
    if not settings.simulated:
        yield (settings.base_url or API).rstrip("/")
        return
    async with SimulatedClaude(*capability.script).serve() as url:
        yield url


def _client(settings: Settings) -> aiohttp.ClientSession:
    """With the proxy of the environment, unless it is this machine that is asked."""
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
) -> Recorded:
    asked = time.perf_counter()
    async with client.post(f"{url}/v1/messages", json=body, headers=headers) as response:
        if response.status != 200:
            told = (await response.text())[:500]
            raise EngineFailed("not_captured", f"The API answered {response.status}: {told}.")
        call = Recorded(b"", body)
        rest = b""
        async for piece in response.content.iter_any():
            now = round((time.perf_counter() - asked) * 1000, 1)
            *frames, rest = (rest + piece.replace(b"\r\n", b"\n")).split(b"\n\n")
            call.timed += [(now, event) for frame in frames for event in parsed(frame)]
    call.body = b"".join(framed(event) for _, event in call.timed)
    return call


def _more(call: Recorded) -> list[Json]:
    """What the conversation goes on with, if it does: the answer, and what the tools say."""
    answer = Call()
    answer.feed(call.events)
    said = {"role": "assistant", "content": answer.blocks}
    if answer.stop_reason == "pause_turn":
        return [said]
    calls = [block for block in answer.blocks if block["type"] == "tool_use"]
    if answer.stop_reason != "tool_use" or not calls:
        return []
    return [said, {"role": "user", "content": [_result(call) for call in calls]}]


def _result(call: Json) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        return result | {"content": RUN[call["name"]](**call["input"])}
    except (LookupError, TypeError, ValueError) as error:
        return result | {"content": repr(error), "is_error": True}
