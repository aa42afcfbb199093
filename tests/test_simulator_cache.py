"""The simulated prompt cache: read, written and neither, as the API reports them."""

import copy

import httpx2
import pytest
from claude_request import KEY

from turnlog.simulator import Reply, SimulatedClaude, Usage
from turnlog.simulator.cache import MINIMUM_TOKENS, PromptCache
from turnlog.simulator.tokens import input_tokens

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return PromptCache(clock)


def text(words, **mark):
    return {"type": "text", "text": words, **mark}


def request(*messages, system=(), **more):
    """`messages` are lists of blocks: the user's, the assistant's, the user's, ..."""
    roles = ["user", "assistant"] * len(messages)
    told = [
        {"role": role, "content": blocks} for role, blocks in zip(roles, messages, strict=False)
    ]
    return {"model": "claude-sonnet-5-5", "system": list(system), "messages": told, **more}


def charged(cache, body, key="k"):
    usage = cache.charge(Reply("Hi"), body, key).usage
    return usage.cache_read, usage.cache_write_5m, usage.cache_write_1h


LONG = "All about ledgers. " * 300  # some 1,400 tokens


def test_the_second_request_reads_what_the_first_has_written(cache):
    body = request([text("Hello")], system=[text(LONG, **MARK)])
    read, written, hour = charged(cache, body)
    assert (read, hour) == (0, 0)
    assert written > MINIMUM_TOKENS
    assert charged(cache, body) == (written, 0, 0)


def test_a_conversation_reads_what_it_had_and_writes_what_is_new(cache):
    first = [text(LONG, **MARK)]
    _, written, _ = charged(cache, request(first))
    longer = request([text(LONG)], [text("An answer " * 100)], [text("And now?", **MARK)])
    read, more, _ = charged(cache, longer)
    assert read == written
    assert 200 < more < 400


def test_nothing_is_cached_without_a_mark_or_below_the_minimum(cache):
    for body in (request([text(LONG)]), request([text("short", **MARK)])):
        assert charged(cache, body) == (0, 0, 0)
        assert charged(cache, body) == (0, 0, 0)


@pytest.mark.parametrize(("mark", "lifetime"), [(MARK, 300), (HOUR, 3600)])
def test_an_entry_lives_for_its_time_and_a_read_renews_it(cache, clock, mark, lifetime):
    body = request([text("Hello")], system=[text(LONG, **mark)])
    charged(cache, body)
    for _ in range(3):
        clock.time += lifetime - 1
        assert charged(cache, body)[0] > 0
    clock.time += lifetime
    assert charged(cache, body)[0] == 0


def test_both_lifetimes_are_told_apart(cache):
    body = request([text(LONG, **MARK)], system=[text(LONG, **HOUR)])
    read, five_minutes, hour = charged(cache, body)
    assert read == 0
    assert abs(five_minutes - hour) < 10


# fmt: off
CHANGES = {
    "the tools":    (lambda body: body["tools"][0].update(description="Other"),          0),
    "the system":   (lambda body: body["system"][0].update(text=LONG + "!"),             1),
    "thinking":     (lambda body: body.update(thinking={"type": "adaptive"}),            2),
    "tool choice":  (lambda body: body.update(tool_choice={"type": "auto"}),             2),
    "the question": (lambda body: body["messages"][0]["content"][0].update(text="Hm"),   2),
    "the model":    (lambda body: body.update(model="claude-opus-5-5"),                  0),
    "the marks":    (lambda body: body["system"][0].pop("cache_control"),                3),
}
# fmt: on


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_loses_what_comes_after_it(cache, what):
    change, kept = CHANGES[what]
    tool = {"name": "t", "description": LONG, "input_schema": {"type": "object"}, **MARK}
    body = request([text(LONG, **MARK)], system=[text(LONG, **MARK)], tools=[tool])
    charged(cache, body)
    changed = copy.deepcopy(body)
    change(changed)
    read = charged(cache, changed)[0]
    assert round(read / (len(LONG) / 4)) == kept


def test_a_key_does_not_read_what_another_has_written(cache):
    body = request([text(LONG, **MARK)])
    charged(cache, body, "one")
    assert charged(cache, body, "two")[0] == 0
    assert charged(cache, body, "one")[0] > 0


@pytest.mark.parametrize(("blocks", "hits"), [(19, True), (20, False)])
def test_a_mark_looks_back_over_twenty_blocks(cache, blocks, hits):
    charged(cache, request([text(LONG, **MARK)]))
    more = [text(f"block {at}") for at in range(blocks)]
    more[-1] |= MARK
    assert (charged(cache, request([text(LONG), *more]))[0] > 0) == hits


def test_numbers_of_a_script_stay_as_they_are(cache):
    scripted = Reply("Hi", usage=Usage(cache_read=7))
    assert cache.charge(scripted, request([text(LONG, **MARK)]), "k") is scripted


async def test_the_parts_add_up_on_the_wire(clock):
    body = request([text(LONG, **MARK), text("And a question")]) | {"max_tokens": 100}
    async with (
        SimulatedClaude(pace=0, now=clock).serve() as url,
        httpx2.AsyncClient(timeout=60, base_url=url, headers=KEY) as http,
    ):
        first = (await http.post("/v1/messages", json=body)).json()["usage"]
        second = (await http.post("/v1/messages", json=body)).json()["usage"]
        count = (await http.post("/v1/messages/count_tokens", json=body)).json()
    wrote = first["cache_creation_input_tokens"]
    assert first["cache_creation"] == {
        "ephemeral_5m_input_tokens": wrote,
        "ephemeral_1h_input_tokens": 0,
    }
    assert wrote == second["cache_read_input_tokens"] > MINIMUM_TOKENS
    assert first["input_tokens"] == second["input_tokens"] == input_tokens(body) - wrote
    assert count == {"input_tokens": input_tokens(body)}


async def test_the_models_are_listed():
    async with (
        SimulatedClaude().serve() as url,
        httpx2.AsyncClient(timeout=60, base_url=url, headers=KEY) as http,
    ):
        every = (await http.get("/v1/models")).json()
        one = await http.get(f"/v1/models/{every['first_id']}")
        none = await http.get("/v1/models/gpt")
    assert one.json() == every["data"][0]
    assert none.status_code == 404
