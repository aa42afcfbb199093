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
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel

from turnlog.engines.openai_agents import conversation
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.content import usage_of
from turnlog.ports import CallOutput, CallStarted, Prompt

FAKE = "__fake_id__"  # what the SDK calls every answer of a chat-completions model
STOPS = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
Json = dict[str, Any]
# fmt: off
FAILURES: dict[type[Exception], tuple[str, str, bool]] = {
    openai.RateLimitError:      ("rate_limited",    "The model is being asked too often.", True),
    openai.AuthenticationError: ("invalid_key",     "The server's API key is not valid.", False),
    openai.BadRequestError:     ("invalid_request", "The model did not accept this.", False),
    openai.APIConnectionError:  ("unreachable",     "The model cannot be reached now.", True),
    openai.OpenAIError:         ("provider_error",  "The model provider had an error.", True),
}
# fmt: on
CUT = ("stream_cut", "The connection to the model broke in mid-answer.", True)


def openai_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    api: Literal["responses", "chat"] = "responses",
) -> "SdkModelAdapter":
    """A model at OpenAI or at any server that speaks its API."""
    client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key or "none")
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
        reading = _Reading(self._name)
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if outputs := reading.take(event):
                        yield outputs
        except openai.OpenAIError as error:
            raise _explained(error) from error
        if not reading.over:
            raise _failed(*CUT)


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

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = False
        self._blocks: list[str] = []  # kinds, in order
        self._thought = ""
        self.over = False

    def take(self, event: Any) -> list[CallOutput]:
        begun: list[CallOutput] = []
        if not self._begun:
            self._begun = True
            response = getattr(event, "response", None)
            name = getattr(response, "id", "") or ""
            name = "" if name == FAKE else name
            begun = [CallStarted(message_id=name, model=self._name, reported={})]
        rule = _RULES.get(event.type)
        return begun + (rule(self, event) if rule else [])

    def text(self, event: Any) -> list[CallOutput]:
        before = self._block("text")
        at = len(self._blocks) - 1
        return [*before, k.MessageChunk(message_id="", content=event.delta, block_index=at)]

    def thought(self, event: Any) -> list[CallOutput]:
        before = self._block("thinking")
        self._thought += event.delta
        at = len(self._blocks) - 1
        return [*before, k.ThinkingChunk(message_id="", content=event.delta, block_index=at)]

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
        self.over = True
        response = event.response
        closing = self._end_of_thought()
        thoughts, blocks, indexes, unreadable = conversation.blocks(response.output)
        reported = _reported(response.usage)
        cut = getattr(response.incomplete_details, "reason", None) or ""
        calls = any(block["type"] == "tool_use" for block in blocks)
        message = k.Message(
            message_id="",
            blocks=blocks,
            block_indexes=indexes,
            stop_reason="tool_use" if calls else STOPS.get(cut, "end_turn"),
            model=self._name,
            token_usage=usage_of(reported),
            reported=reported,
        )
        return [*closing, *unreadable, *thoughts, message]

    def failed(self, event: Any) -> list[CallOutput]:
        self.over = True
        raise _failed(*FAILURES[openai.OpenAIError])


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


def _explained(error: openai.OpenAIError) -> EngineFailed:
    return next(_failed(*row) for kind, row in FAILURES.items() if isinstance(error, kind))


def _failed(code: str, sentence: str, again: bool) -> EngineFailed:
    return EngineFailed(code, sentence, retryable=again)
