"""What crosses between the SDK's items and our events."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

from turnlog.events import kinds as k

Json = dict[str, Any]


def call(call_id: str, name: str, args: Json | None = None) -> Any:
    arguments = msgspec.json.encode(args or {}).decode()
    return ResponseFunctionToolCall(
        type="function_call", call_id=call_id, name=name, arguments=arguments
    )


def thoughts(outputs: Sequence[Any]) -> list[Any]:
    """With their signatures, as the SDK carries what only a provider can read."""
    return [
        ResponseReasoningItem(
            type="reasoning",
            id=f"{each.message_id}:{each.block_index}",
            summary=[],
            encrypted_content=each.signature,
        )
        for each in outputs
        if isinstance(each, k.Thinking)
    ]


def message(said: k.Message | None) -> list[Any]:
    text = ResponseOutputText(
        type="output_text", text=said.content if said else "", annotations=[], logprobs=[]
    )
    name = said.message_id if said else "none"
    return [
        ResponseOutputMessage(
            type="message", id=name, role="assistant", status="completed", content=[text]
        )
    ]


def completed(output: list[Any]) -> Any:
    response = Response(
        id="turnlog",
        created_at=time.time(),
        model="turnlog",
        object="response",
        output=output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    return ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def result(given: k.ToolResult) -> str:
    if not given.success:
        return f"Error: {given.error}"
    value = given.result
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def last_question(messages: Sequence[Json]) -> str:
    """For guardrails: what the user said last."""
    for each in reversed(messages):
        content = each["content"]
        if each["role"] != "user":
            continue
        if isinstance(content, str):
            return content
        texts = [block["text"] for block in content if block["type"] == "text"]
        if texts:
            return "\n".join(texts)
    return ""
