"""What comes as JSON inside of a text: read, or left as the text that it is."""

import pytest

from turnlog.engines.langgraph.calls import _ToolCall
from turnlog.events import numbers
from turnlog.events.nesting import DEEPEST
from turnlog.transports.protocols.understanding import value_of

DEEP = '{"a": ' + "[" * 5000 + "]" * 5000 + "}"
# Whoever reads it here may be able to: others are not.
TOO_DEEP = '{"a": ' + "[" * DEEPEST + "]" * DEEPEST + "}"
TEXTS = {"empty": "", "a word": "Hi", "cut": "{", "deep": DEEP, "too deep for some": TOO_DEEP}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_a_clients_tool_gave_is_a_text_where_it_is_no_json(text):
    assert value_of(text) == text
    assert value_of('{"a": 1}') == {"a": 1}


def test_arguments_that_break_off_are_not_whole_though_langchain_mends_them():
    assert numbers.arguments("{") == ({}, numbers.NO_OBJECT)
    assert (_ToolCall(args="{").parsed(), _ToolCall(args="{").is_whole) == ({}, False)


@pytest.mark.parametrize(
    "text", ["[]", DEEP, TOO_DEEP], ids=["a list", "deep", "too deep for some"]
)
def test_arguments_that_cannot_be_read_are_told_from_others(text):
    assert numbers.arguments(text) == ({}, numbers.NO_OBJECT)
    assert _ToolCall(args=text).parsed() is None
    assert numbers.arguments('{"a": 1}') == ({"a": 1}, None)
    assert _ToolCall(args='{"a": 1}').parsed() == {"a": 1}
