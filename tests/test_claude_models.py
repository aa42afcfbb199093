"""Every model is asked in a form that it takes: our table against the simulator's rules."""

import asyncio
from itertools import product
from typing import get_args

import msgspec
import pytest
from anthropic.types.model import Model

from turnlog.engines.claude import models
from turnlog.engines.claude.model import ClaudeModel
from turnlog.engines.claude.request import body_of
from turnlog.errors import EngineFailed
from turnlog.ports import Prompt, ToolSpec
from turnlog.simulator import rules

LISTED = get_args(get_args(Model)[0])  # the ones that the installed SDK names
OTHERS = (
    "claude-opus-4-1",
    "claude-sonnet-4-20250514",
    "claude-saga-6",
    "my-own-model",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "anthropic.claude-opus-4-6-v1",
)
MODELS = sorted({*LISTED, *OTHERS})
BUDGETS = (None, 1, 1_000, 1_024, 8_192, 10_000, 50_000, 100_000)
KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
LOOK = ToolSpec(name="look", description="Look.", input_schema={"type": "object"})


def request(model, budget, max_tokens=8_192, **more):
    prompt = Prompt(
        model=model,
        system="Be kind.",
        messages=[HI],
        max_tokens=max_tokens,
        tools=[LOOK],
        thinking_budget=budget,
        **more,
    )
    return body_of(prompt, "5m")


def test_the_sdk_lists_models():
    assert "claude-sonnet-5-5" in LISTED


@pytest.mark.parametrize("model", MODELS)
def test_no_model_refuses_what_it_is_asked(model):
    limits = (1, 1_024, 8_192, 128_000)
    for budget, max_tokens, searches in product(BUDGETS, limits, (None, 0, 3)):
        body = request(model, budget, max_tokens, searches=searches)
        rules.check(KEY, msgspec.json.encode(body | {"stream": True}))  # raises Refused


@pytest.mark.parametrize("model", MODELS)
def test_who_asks_for_thoughts_can_read_them(model):
    thinking = request(model, 10_000)["thinking"]
    assert (thinking["type"] in ("enabled", "adaptive"), thinking["display"]) == (
        True,
        "summarized",
    )


# fmt: off
ASKED = [
    # model                       on           off
    ("claude-opus-5-5",           "adaptive",  "adaptive"),
    ("claude-opus-5",             "adaptive",  "disabled"),
    ("claude-opus-4-8",           "adaptive",  None),
    ("claude-opus-4-6",           "adaptive",  None),
    ("claude-opus-4-5-20251101",  "enabled",   None),
    ("claude-sonnet-5-5",         "adaptive",  "between_tools"),
    ("claude-sonnet-5",           "adaptive",  "disabled"),
    ("claude-sonnet-4-6",         "adaptive",  None),
    ("claude-sonnet-4-20250514",  "enabled",   None),
    ("claude-haiku-5-5",          "adaptive",  "disabled"),
    ("claude-haiku-4-5",          "enabled",   None),
    ("claude-fable-5-2",          "adaptive",  "adaptive"),
    ("claude-mythos-5",           "adaptive",  "adaptive"),
    ("claude-mythos-preview",     "adaptive",  None),
    ("something else",            "adaptive",  None),
]
# fmt: on


@pytest.mark.parametrize(("model", "on", "off"), ASKED)
def test_each_model_is_told_to_think_and_not_to_think_in_its_own_way(model, on, off):
    assert request(model, 10_000)["thinking"]["type"] == on
    assert request(model, None).get("thinking", {}).get("type") == off


@pytest.mark.parametrize(("model", "on", "off"), ASKED)
def test_thinking_between_tools_is_asked_for_by_name_only_where_it_must_be(model, on, off):
    needed = ["interleaved-thinking-2025-05-14"] if on == "enabled" else []
    assert models.betas(request(model, 10_000)) == needed
    assert models.betas(request(model, None)) == []


@pytest.mark.parametrize("budget", [1, 1_000, 10_000, 100_000])
@pytest.mark.parametrize("max_tokens", [1, 8_192, 128_000])
def test_a_budget_is_clamped_and_leaves_room_for_the_answer(budget, max_tokens):
    asked = models.thinking_parameters("claude-haiku-4-5", budget, max_tokens)
    tokens = asked["thinking"]["budget_tokens"]
    assert 1024 <= tokens < asked["max_tokens"]
    assert asked["max_tokens"] >= max_tokens


def test_a_budget_becomes_an_effort_where_none_is_taken():
    asked = [
        models.thinking_parameters("claude-sonnet-5-5", n, 8_192) for n in (1_000, 16_000, 100_000)
    ]
    assert [each["output_config"]["effort"] for each in asked] == ["low", "medium", "max"]


async def head_sent(model, budget):
    """The head of the request that goes out over the wire, in lower case."""
    heads = []

    async def answer(reader, writer):
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        claude = ClaudeModel(api_key="k", base_url=f"http://{host}:{port}")
        prompt = Prompt(
            model=model, system="", messages=[HI], max_tokens=99, thinking_budget=budget
        )
        with pytest.raises(EngineFailed):
            await anext(claude.call(prompt))
        await claude.close()
    return heads[0].decode().lower()


async def test_the_name_of_what_is_asked_for_is_sent_as_a_header():
    named = "anthropic-beta: interleaved-thinking-2025-05-14"
    assert named in await head_sent("claude-haiku-4-5", 2_000)
    assert "anthropic-beta" not in await head_sent("claude-haiku-4-5", None)
    assert "anthropic-beta" not in await head_sent("claude-sonnet-5-5", 2_000)
