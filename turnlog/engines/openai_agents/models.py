"""Any model of the SDK as one of ours: OpenAI's own, and whatever speaks its API.

    create_app(agents, engine=OpenAIAgentsEngine(openai_model("gpt-5", base_url=..., api="chat")))

Ids that a provider leaves out or makes up are ours; a thought keeps what only the provider reads.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

import msgspec
import openai
from agents import FunctionTool, ModelSettings, ModelTracing
from agents.exceptions import AgentsException
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel

from turnlog.engines.openai_agents import conversation, endings
from turnlog.engines.openai_agents.failures import (
    CUT,
    PROVIDER,
    TOO_MUCH,
    UNREADABLE,
    explained,
    failed,
)
from turnlog.events import kinds as k
from turnlog.events.content import usage_of, writable
from turnlog.ports import CallOutput, CallStarted, Prompt

FAKE = "__fake_id__"  # what the SDK calls every answer of a chat-completions model
# By the reason that the provider gives: of the Responses API, of Chat Completions.
STOPS = {"max_output_tokens": "max_tokens", "length": "max_tokens", "content_filter": "refusal"}
_TEXT, _TEXT_A_TOKEN = 20_000, 32  # characters of an answer; a token has four of them
Json = dict[str, Any]


def openai_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    api: Literal["responses", "chat"] = "responses",
) -> "SdkModelAdapter":
    """A model at OpenAI or at any server that speaks its API."""
    client = endings.watched(openai.AsyncOpenAI(base_url=base_url, api_key=api_key or "none"))
    kinds: dict[str, Any] = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}
    return SdkModelAdapter(kinds[api](model=name, openai_client=client), name, client)


class SdkModelAdapter:
    """A Model around one of the SDK's."""

    def __init__(self, model: Any, name: str, client: Any = None) -> None:
        self._model = model
        self._name = name
        self._client = client

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def count(self, prompt: Prompt) -> int:
        """An estimate: this API cannot be asked."""
        return len(msgspec.json.encode(prompt.messages)) // 4

    async def call(self, prompt: Prompt) -> AsyncGenerator[Sequence[CallOutput], None]:
        stream = self._model.stream_response(
            prompt.system or None,
            conversation.items(prompt.messages),
            _settings(prompt),
            [_tool(spec) for spec in prompt.tools],
            None,
            [],
            ModelTracing.DISABLED,
            previous_response_id=None,
            conversation_id=None,
            prompt=None,
        )
        reading = _Reading(self._name, endings.awaited(), prompt.max_tokens)
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if outputs := reading.take(event):
                        yield outputs
                    if reading.over:  # the SDK fails after an answer that was cut short
                        return
        except openai.OpenAIError as error:
            raise explained(error, begun=reading.begun) from error
        except AgentsException as error:
            raise failed(PROVIDER) from error
        except ValueError as error:
            raise failed(UNREADABLE) from error
        raise failed(CUT)


def _settings(prompt: Prompt) -> ModelSettings:
    wished = prompt.sampling
    if wished is None:
        return ModelSettings(max_tokens=prompt.max_tokens, include_usage=True)
    return ModelSettings(
        max_tokens=prompt.max_tokens,
        temperature=wished.temperature,
        top_p=wished.top_p,
        extra_args={"stop": wished.stop} if wished.stop else None,
        include_usage=True,
    )


def _tool(spec: Any) -> Any:
    async def never(context: Any, args: str) -> str:
        raise AssertionError("the server runs the tools")

    return FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.input_schema,
        on_invoke_tool=never,
        strict_json_schema=False,
    )


class _Reading:
    """One call's stream as our events."""

    def __init__(self, name: str, ending: endings.Ending, max_tokens: int) -> None:
        self._name = name
        self._ending = ending
        self._room = _TEXT + _TEXT_A_TOKEN * max_tokens
        self._blocks: list[str] = []  # kinds, in order
        self._thought = ""
        self.begun = False
        self.over = False

    def take(self, event: Any) -> list[CallOutput]:
        self._room -= len(getattr(event, "delta", None) or "")
        if self._room < 0:
            raise failed(TOO_MUCH)
        begun: list[CallOutput] = []
        if not self.begun:
            self.begun = True
            response = getattr(event, "response", None)
            name = getattr(response, "id", "") or ""
            name = "" if name == FAKE else name
            begun = [CallStarted(message_id=name, model=self._name, reported={})]
        rule = _RULES.get(event.type)
        return begun + (rule(self, event) if rule else [])

    def text(self, event: Any) -> list[CallOutput]:
        before = self._block("text")
        at = len(self._blocks) - 1
        said = writable(event.delta)
        return [*before, k.MessageChunk(message_id="", content=said, block_index=at)]

    def thought(self, event: Any) -> list[CallOutput]:
        before = self._block("thinking")
        said = writable(event.delta)
        self._thought += said
        at = len(self._blocks) - 1
        return [*before, k.ThinkingChunk(message_id="", content=said, block_index=at)]

    def _block(self, kind: str) -> list[CallOutput]:
        """The end of the block before, and the beginning of this one, where it is new."""
        if self._blocks and self._blocks[-1] == kind:
            return []
        told = self._end_of_thought()
        self._blocks.append(kind)
        if kind == "thinking":
            told.append(k.ThinkingStart(message_id="", block_index=len(self._blocks) - 1))
        return told

    def _end_of_thought(self) -> list[CallOutput]:
        if not self._blocks or self._blocks[-1] != "thinking":
            return []
        text, self._thought = self._thought, ""
        at = len(self._blocks) - 1
        return [k.ThinkingComplete(message_id="", content=text, block_index=at, duration=0)]

    def completed(self, event: Any) -> list[CallOutput]:
        if self._ending.is_watched and self._ending.reason is None:
            raise failed(CUT)
        self.over = True
        response = event.response
        closing = self._end_of_thought()
        thoughts, blocks, indexes, unreadable = conversation.blocks(response.output)
        reported = _reported(response.usage)
        cut = getattr(response.incomplete_details, "reason", None) or self._ending.reason or ""
        calls = any(block["type"] == "tool_use" for block in blocks)
        message = k.Message(
            message_id="",
            blocks=blocks,
            block_indexes=indexes,
            stop_reason=STOPS.get(cut) or ("tool_use" if calls else "end_turn"),
            model=self._name,
            token_usage=usage_of(reported),
            reported=reported,
        )
        return [*closing, *unreadable, *thoughts, message]

    def failed(self, event: Any) -> list[CallOutput]:
        raise failed(PROVIDER)


_RULES: dict[str, Any] = {
    "response.output_text.delta": _Reading.text,
    "response.refusal.delta": _Reading.text,
    "response.reasoning_summary_text.delta": _Reading.thought,
    "response.reasoning_text.delta": _Reading.thought,
    "response.completed": _Reading.completed,
    "response.incomplete": _Reading.completed,
    "response.failed": _Reading.failed,
}


def _reported(usage: Any) -> Json:
    """As the Messages API counts: what came from the cache is no input."""
    if usage is None:
        return {}
    cached = getattr(usage.input_tokens_details, "cached_tokens", 0) or 0
    thought = getattr(usage.output_tokens_details, "reasoning_tokens", 0) or 0
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": thought},
    }
