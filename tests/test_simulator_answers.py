"""What the simulated Claude says by itself: short, honest, and always the same."""

import pytest
from turnlog.simulators.claude.answers import answer

from turnlog.simulators.claude import Text, Thinking, ToolCall

WEATHER = {
    "name": "get_weather",
    "input_schema": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "days", "unit"],
    },
}
PING = {"name": "ping", "input_schema": {"type": "object"}}
SEARCH = {"type": "web_search_20260318", "name": "web_search"}


def ask(said, **more):
    return {"model": "claude-x", "messages": [{"role": "user", "content": said}], **more}


def after_tool(**result):
    """The request that brings back what get_weather returned."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
    back = {"type": "tool_result", "tool_use_id": "toolu_1", **result}
    request = ask("get weather")
    request["messages"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [back]},
    ]
    return request


def test_a_text_is_repeated_by_an_open_simulation():
    (said,) = answer(ask("How many ducks are there?")).blocks
    assert "simulated" in said.text
    assert "How many ducks are there?" in said.text
    assert answer(ask("How many ducks are there?")).blocks == (said,)


def test_a_message_without_text_is_answered_too():
    image = {"type": "image", "source": {"type": "url", "url": "https://ducks.example"}}
    (said,) = answer(ask([image])).blocks
    assert "You sent no text." in said.text


# fmt: off
THINKING = [
    ("claude-haiku-4-5", None,                                            None),
    ("claude-haiku-4-5", {"type": "disabled"},                            None),
    ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 1024},      "shown"),
    ("claude-opus-5-5",  {"type": "adaptive"},                            "omitted"),
    ("claude-opus-5-5",  {"type": "adaptive", "display": "summarized"},   "shown"),
    ("claude-opus-4-6",  {"type": "adaptive", "display": "omitted"},      "omitted"),
]
# fmt: on


@pytest.mark.parametrize(("model", "thinking", "expected"), THINKING)
def test_thinking_comes_first_when_it_is_on(model, thinking, expected):
    first = answer(ask("Hi") | {"model": model, "thinking": thinking}).blocks[0]
    shown = {None: type(first) is Text, "shown": first.text != "", "omitted": first.text == ""}
    assert shown[expected]
    assert isinstance(first, Thinking) == (expected is not None)


# fmt: off
CALLS = [
    ('get_weather "Bern", 3 days, Fahrenheit', {"city": "Bern", "days": 3, "unit": "fahrenheit"}),
    ("Please GET WEATHER in Paris", {"city": "in Paris", "days": 1, "unit": "celsius"}),
    ("Get-weather!", {"city": "city", "days": 1, "unit": "celsius"}),
]
# fmt: on


@pytest.mark.parametrize(("said", "arguments"), CALLS)
def test_a_tool_that_is_named_is_called(said, arguments):
    opening, call = answer(ask(said, tools=[SEARCH, PING, WEATHER])).blocks
    assert "simulated" in opening.text
    assert call == ToolCall("get_weather", arguments)


@pytest.mark.parametrize("said", ["Hello", "pinging", "web_search ducks", "weather"])
def test_a_tool_that_is_not_named_is_left_alone(said):
    (said,) = answer(ask(said, tools=[SEARCH, PING, WEATHER])).blocks
    assert isinstance(said, Text)


def test_the_choice_of_tools_is_obeyed():
    tools = [PING, WEATHER]
    forced = answer(ask("Hi", tools=tools, tool_choice={"type": "tool", "name": "get_weather"}))
    some = answer(ask("Hi", tools=tools, tool_choice={"type": "any"}))
    none = answer(ask("ping", tools=tools, tool_choice={"type": "none"}))
    assert forced.blocks[1].name == "get_weather"
    assert some.blocks[1].name == "ping"
    assert len(none.blocks) == 1


def test_what_a_tool_returned_is_told():
    (said,) = answer(after_tool(content="sunny, 21 °C")).blocks
    assert "get_weather returned: sunny, 21 °C" in said.text
    assert "simulated" in said.text


def test_a_long_result_is_shortened():
    (said,) = answer(after_tool(content=[{"type": "text", "text": "x" * 9000}])).blocks
    assert 400 < len(said.text) < 500


def test_a_failed_tool_is_told_as_failed():
    (said,) = answer(after_tool(content="no such city", is_error=True)).blocks
    assert "get_weather failed: no such city" in said.text


def test_an_empty_result_is_told_as_nothing():
    (said,) = answer(after_tool()).blocks
    assert "get_weather returned: nothing" in said.text
