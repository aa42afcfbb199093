"""Whatever happens to a history: repaired, the API takes it; and a good one stays the same."""

import json

import pytest
from histories import call, claude, found, image, result, search, text, thought, user
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.projections.history.lint import lint
from turnlog.projections.history.repair import repair
from turnlog.projections.history.request import Request
from turnlog.simulator import rules

pytestmark = pytest.mark.slow  # hundreds of examples

KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
MODELS = st.sampled_from(["claude-sonnet-5-5", "claude-haiku-4-5", "claude-opus-4-6"])
THINKING = {"type": "enabled", "budget_tokens": 1024}
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip)
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)


@st.composite
def turns(draw, n):
    """A question, some rounds of tools, an answer: as a model and its tools would say it."""
    turn = [user(*draw(st.lists(st.just(image()), max_size=1)), draw(words))]
    for step in range(draw(st.integers(0, 2))):
        ids = [f"toolu_{n}_{step}_{each}" for each in range(draw(st.integers(1, 3)))]
        thoughts = draw(st.lists(words.map(thought), max_size=2))
        turn.append(claude(*thoughts, *map(call, ids)))
        turn.append(user(*[result(id, draw(words)) for id in ids]))
    searched = draw(st.sampled_from([[], [search(f"srvtoolu_{n}"), found(f"srvtoolu_{n}")]]))
    return [*turn, claude(*draw(st.lists(words.map(thought), max_size=1)), *searched, draw(words))]


@st.composite
def bodies(draw):
    talk = [message for n in range(draw(st.integers(0, 3))) for message in draw(turns(n))]
    messages = [*talk, user(draw(words))]
    return {"model": draw(MODELS), "max_tokens": 4096, "messages": messages}


def drop(items, at, other):
    del items[at]


def double(items, at, other):
    items.insert(at, items[at])


def swap(items, at, other):
    items[at], items[other] = items[other], items[at]


def turn_round(items, at, other):
    items.reverse()


MUTATIONS = st.sampled_from([drop, double, swap, turn_round])
BLOCK_MUTATIONS = st.sampled_from(["blank", "role", "unsign", "rename", "empty", "lose"])


def hurt_block(message, block, how):
    """Blank it, move it to the other's message, take its signature, its id or its content."""
    match how:
        case "blank" if block.get("type") == "text":
            block["text"] = " \n"
        case "role":
            message["role"] = {"user": "assistant"}.get(message["role"], "user")
        case "unsign":
            block.pop("signature", None)
        case "rename":
            block.update({name: "other id" for name in ("id", "tool_use_id") if name in block})
        case "empty":
            message["content"] = []
        case "lose":
            block.pop("type", None)


@st.composite
def hurt(draw, body):
    body = json.loads(json.dumps(body))
    for _ in range(draw(st.integers(1, 4))):
        messages = body["messages"]
        if not messages:
            break
        message = draw(st.sampled_from(messages))
        items = draw(st.sampled_from([messages, message["content"]])) or messages
        places = st.integers(0, len(items) - 1)
        draw(MUTATIONS)(items, draw(places), draw(places))
        if message["content"] and draw(st.booleans()):
            block = draw(st.sampled_from(message["content"]))
            hurt_block(message, block, draw(BLOCK_MUTATIONS))
        body = json.loads(json.dumps(body))  # what was doubled is two
    return body


def taken(body):
    rules.check(KEY, json.dumps(body).encode())
    return True


@SETTINGS
@given(bodies())
def test_a_good_history_stays_the_same(body):
    assert taken(body)
    repaired = repair(Request(body))
    assert repaired.found == []
    assert repaired.body is body


@SETTINGS
@given(bodies().flatmap(hurt), st.booleans())
def test_a_hurt_history_is_mended_and_then_stays_the_same(body, thinks):
    if thinks and body["model"] == "claude-haiku-4-5":
        body["thinking"] = THINKING
    repaired = repair(Request(body))
    assert repaired.left == []
    assert taken(repaired.body)
    assert repair(Request(repaired.body)).body is repaired.body


@SETTINGS
@given(bodies().flatmap(hurt))
def test_what_lint_finds_nothing_in_the_api_takes(body):
    """The other way round: whatever the API refuses, lint has named."""
    if not lint(Request(body)):
        assert taken(body)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "type", "text", "id", "input", "source", "name"]),
        inner | st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "image"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@SETTINGS
@given(st.lists(junk, max_size=4), junk, junk)
def test_any_json_at_all_is_mended(messages, system, tools):
    body = {"model": "claude-sonnet-5-5", "max_tokens": 10, "messages": messages}
    repaired = repair(Request(body | {"system": system}))
    assert repaired.left == []
    assert taken(repaired.body)
    repair(Request(body | {"tools": tools, "thinking": system, "cache_control": tools}))


def test_texts_that_look_blank_to_one_are_blank_to_the_other():
    for blank in (" ", "\t\n", "\u00a0", "\u2003", "\x1c", "\u3000", ""):
        assert lint(Request({"messages": [user(text(blank))]}))
