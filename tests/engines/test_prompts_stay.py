"""What a model is told is told again in later turns: no engine changes it, nor can a graph."""

import copy
from contextlib import aclosing, asynccontextmanager

import pytest
from fake_openai import FakeOpenAI, FakeResponses

from turnlog.engines.claude.model import ClaudeModel
from turnlog.engines.langgraph.conversation import conversation
from turnlog.engines.openai_agents.conversation import items
from turnlog.engines.openai_agents.models import openai_model
from turnlog.ports import Prompt
from turnlog.simulator import Reply, SimulatedClaude
from turnlog.testing import samples as s

pytestmark = pytest.mark.slow  # imports LangChain
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
FOUND = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [s.text("Booked.")]}


def told():
    """Messages with something of each kind in them, on several levels."""
    return [
        {"role": "user", "content": [{"type": "image", "source": {**IMAGE}}, s.text("Book it.")]},
        {"role": "assistant", "content": [s.call("toolu_1", "book", lines=[{"no": 1}, {"no": 2}])]},
        {"role": "user", "content": [copy.deepcopy(FOUND)]},
        {"role": "assistant", "content": [s.text("It is booked. ")]},
        {"role": "user", "content": [s.text("Again."), s.text("And soon.")]},
    ]


def spoil(value):
    """Take everything out of it that can be taken out."""
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            spoil(each)
    value.clear()


def spoil_graph_messages(messages):
    for each in conversation(messages):  # as a node of somebody's graph may
        spoil(getattr(each, "tool_calls", []))
        if isinstance(each.content, list):
            spoil(each.content)


HANDED_OUT = {"langgraph": spoil_graph_messages, "openai_agents": lambda m: spoil(items(m))}


@pytest.mark.parametrize("hand_out", HANDED_OUT.values(), ids=HANDED_OUT)
def test_what_others_do_with_a_history_does_not_change_it(hand_out):
    messages = told()
    hand_out(messages)
    assert messages == told()


@asynccontextmanager
async def claude():
    async with SimulatedClaude(Reply("Done."), pace=0).serve() as url:
        yield ClaudeModel(api_key="k", base_url=url, cache="5m")


@asynccontextmanager
async def openai(api, fake):
    async with fake("Done.").serve() as url:
        yield openai_model("gpt-fake", base_url=url, api_key="k", api=api)


MODELS = {
    "claude": claude,
    "openai, responses": lambda: openai("responses", FakeResponses),
    "openai, chat": lambda: openai("chat", FakeOpenAI),
}


@pytest.mark.parametrize("model_on", MODELS.values(), ids=MODELS)
async def test_a_call_leaves_its_prompt_as_it_was(model_on):
    messages = told()
    given = {"model": "claude-sonnet-5-5", "system": "Be kind.", "max_tokens": 1000}
    async with model_on() as model:
        async with aclosing(model.call(Prompt(messages=messages, **given))) as batches:
            outputs = [output async for batch in batches for output in batch]
        await model.close()
    assert outputs[-1].blocks == [s.text("Done.")]
    assert messages == told()
