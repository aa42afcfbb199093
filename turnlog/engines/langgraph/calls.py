"""One model call of a graph, put together from LangChain's chunks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.utils.json import parse_partial_json

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.content import usage_of, writable
from turnlog.events.nesting import is_too_deep

_STOPS = {"length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "refusal",
          "refusal": "refusal", "stop_sequence": "stop_sequence"}  # fmt: skip
_REASONS = ("stop_reason", "finish_reason", "stopReason", "done_reason")  # Bedrock's, Ollama's
_THOUGHT = "thinking_tokens"
_PROVIDERS = ("msg_", "chatcmpl-", "resp_")  # how ids begin that are a provider's, not LangChain's


def writable_json(value: Any) -> Any:
    """The value as JSON has it; what JSON cannot hold, as text."""
    return json.loads(writable(json.dumps(value, ensure_ascii=False, default=str)))


@dataclass
class _ToolCall:
    name: str = ""
    id: str = ""
    args: str = ""

    def parsed(self) -> dict[str, Any] | None:
        """As LangChain reads them, who mends what broke off. None: not a JSON object."""
        try:
            args = parse_partial_json(self.args or "{}")
        except (ValueError, RecursionError):
            return None
        return writable_json(args) if isinstance(args, dict) and not is_too_deep(args) else None

    @property
    def is_whole(self) -> bool:
        try:
            json.loads(self.args)
        except (ValueError, RecursionError):
            return False
        return True


@dataclass
class ModelCall:
    """What a model has said so far."""

    key: str  # LangChain's id of the message, which stays here
    agent: AgentRef
    task: str  # the node that asked, by LangGraph's id
    model: str = ""
    texts: list[tuple[str, list[str]]] = field(default_factory=list)  # kind of a block, its pieces
    tool_calls: dict[Any, _ToolCall] = field(default_factory=dict)  # by index
    reported: dict[str, int] = field(default_factory=dict)
    provider_id: str = ""
    stop: str = ""

    def add(self, message: AIMessage) -> Iterator[Event]:
        """A chunk, or a whole message. Yields what is to be shown of it."""
        self._note(message)
        for block in message.content_blocks:
            match block:
                case {"type": "text", "text": str(text)} if text:
                    yield from self._write("text", writable(text))
                case {"type": "reasoning", "reasoning": str(text)} if text:
                    yield from self._write("thinking", writable(text))
        if isinstance(message, AIMessageChunk):
            for piece in message.tool_call_chunks:
                call = self.tool_calls.setdefault(piece.get("index"), _ToolCall())
                call.name += writable(piece.get("name") or "")
                call.id += writable(piece.get("id") or "")
                call.args += piece.get("args") or ""
        else:
            for index, made in enumerate(message.tool_calls):
                args = json.dumps(made["args"])
                name, call_id = writable(made["name"]), writable(made["id"] or "")
                self.tool_calls[index] = _ToolCall(name, call_id, args)

    def _note(self, message: AIMessage) -> None:
        facts = message.response_metadata
        named = facts.get("model_name") or facts.get("model") or ""
        self.model = self.model or writable(str(named))
        given = str(facts.get("id") or "")
        if given.startswith(_PROVIDERS):
            self.provider_id = given
        reasons = [facts[name] for name in _REASONS if facts.get(name)]
        self.stop = str(reasons[0]).lower() if reasons else self.stop
        for name, amount in _usage(message.usage_metadata).items():
            self.reported[name] = self.reported.get(name, 0) + amount

    def _write(self, kind: str, text: str) -> Iterator[Event]:
        if not self.texts or self.texts[-1][0] != kind:
            yield from self._end_of_thought()
            self.texts.append((kind, []))
            if kind == "thinking":
                yield k.ThinkingStart(message_id="", block_index=len(self.texts) - 1)
        self.texts[-1][1].append(text)
        chunk = k.MessageChunk if kind == "text" else k.ThinkingChunk
        yield chunk(message_id="", content=text, block_index=len(self.texts) - 1)

    def _end_of_thought(self) -> Iterator[Event]:
        if self.texts and self.texts[-1][0] == "thinking":
            content = "".join(self.texts[-1][1])
            at = len(self.texts) - 1
            yield k.ThinkingComplete(message_id="", content=content, block_index=at, duration=0)

    @property
    def is_shown(self) -> bool:
        return bool(self.texts)

    @property
    def calls(self) -> list[k.ToolUse]:
        """The tools that the model asks for. Arguments that cannot be read are left out."""
        return [
            k.ToolUse(tool_use_id=call.id, tool_name=call.name, args=call.parsed() or {})
            for call in self.tool_calls.values()
            if call.id and call.name
        ]

    def asks_for(self, tool_use_id: str | None) -> bool:
        return bool(tool_use_id) and any(c.id == tool_use_id for c in self.tool_calls.values())

    @property
    def unreadable(self) -> set[str]:
        """Ids of calls whose arguments are no JSON object."""
        return {call.id for call in self.tool_calls.values() if call.parsed() is None}

    @property
    def breaks_off(self) -> bool:
        """Whether a call may have been cut short: LangChain would run it all the same."""
        if not self.stop:  # not every provider gives a reason
            return not all(call.is_whole for call in self.tool_calls.values())
        return bool(self.calls) and _STOPS.get(self.stop) == "max_tokens"

    def ended(self, *, with_calls: bool) -> list[Event]:
        """Its thoughts and its message. Without its calls, they are told as text: then no tool
        was meant, but a decision of the graph."""
        thinks = bool(self.texts) and self.texts[-1][0] == "thinking"
        closing = list(self._end_of_thought()) if thinks else []
        texts = [(at, kind, "".join(pieces)) for at, (kind, pieces) in enumerate(self.texts)]
        thoughts = [
            k.Thinking(message_id="", content=text, block_index=at)
            for at, kind, text in texts
            if kind == "thinking"
        ]
        said = [(at, {"type": "text", "text": text}) for at, kind, text in texts if kind == "text"]
        made: list[dict[str, Any]] = []
        for call in self.calls:
            about = {"id": call.tool_use_id, "name": call.tool_name, "input": call.args}
            decided = f"{call.tool_name} {json.dumps(call.args)}"
            made.append(
                {"type": "tool_use", **about} if with_calls else {"type": "text", "text": decided}
            )
        blocks = [block for _, block in said] + made
        reported: dict[str, Any] = {n: v for n, v in self.reported.items() if n != _THOUGHT}
        if _THOUGHT in self.reported:
            reported["output_tokens_details"] = {_THOUGHT: self.reported[_THOUGHT]}
        message = k.Message(
            message_id="",
            blocks=blocks,
            block_indexes=[*(at for at, _ in said), *range(len(texts), len(texts) + len(made))],
            stop_reason=self._stop_reason(with_calls=with_calls),
            model=self.model,
            token_usage=usage_of(reported),
            reported=reported,
        )
        return [*closing, *thoughts, message]

    def _stop_reason(self, *, with_calls: bool) -> str:
        return "tool_use" if with_calls and self.calls else _STOPS.get(self.stop, "end_turn")


def _usage(usage: Any) -> dict[str, int]:
    """As the Messages API counts: what came from the cache is no input."""
    if not usage:
        return {}
    into, out = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    read, written = into.get("cache_read") or 0, into.get("cache_creation") or 0
    reported = {
        "input_tokens": max(0, usage["input_tokens"] - read - written),
        "output_tokens": usage["output_tokens"],
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    return reported | ({_THOUGHT: out["reasoning"]} if out.get("reasoning") else {})
