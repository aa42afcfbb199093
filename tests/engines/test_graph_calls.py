"""Why a model of LangChain ended, however its provider calls that."""

import pytest
from langchain_core.messages import AIMessageChunk

from turnlog.engines.langgraph.calls import ModelCall
from turnlog.events.base import AgentRef

pytestmark = pytest.mark.slow  # imports LangChain
REASONS = [
    ({"finish_reason": "tool_calls"}, False),
    ({"stop_reason": "tool_use"}, False),
    ({"stopReason": "tool_use"}, False),
    ({"done_reason": "stop"}, False),
    ({"finish_reason": "MAX_TOKENS"}, True),
    ({}, True),
]


@pytest.mark.parametrize(("facts", "breaks_off"), REASONS)
def test_a_call_without_arguments_is_whole_where_the_provider_says_so(facts, breaks_off):
    call = ModelCall("key", AgentRef(id="a", name="A"), "task")
    piece = {"name": "look", "args": "", "id": "c", "index": 0, "type": "tool_call_chunk"}
    list(call.add(AIMessageChunk("", tool_call_chunks=[piece])))
    list(call.add(AIMessageChunk("", response_metadata=facts)))
    assert call.breaks_off is breaks_off
