"""OpenTelemetry spans by the GenAI conventions, where `opentelemetry` is installed.

    invoke_agent AGENT          one turn
        chat MODEL              one model call
        execute_tool TOOL       one tool call

https://github.com/open-telemetry/semantic-conventions-genai. No attribute holds content.
"""

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef

Attributes = dict[str, Any]


class Tracer(Protocol):
    """The part of a tracer that we use. Times are nanoseconds since 1970."""

    def start(self, name: str, kind: str, at: int, attributes: Attributes, under: Any) -> Any:
        """Begin a span below the span `under`, or below the current one if that is None."""
        ...

    def end(self, span: Any, at: int, attributes: Attributes, error: str | None) -> None: ...

    def current(self, span: Any) -> AbstractContextManager[Any]:
        """Spans that begin inside are below this one."""
        ...


def listening_tracer() -> Tracer | None:
    """None: `opentelemetry` is not installed, or nobody has told it where spans go."""
    tracer = _installed()
    return tracer if tracer is not None and tracer.is_heard else None


@cache
def _installed() -> "OpenTelemetry | None":
    try:
        return OpenTelemetry(import_module("opentelemetry.trace"))
    except ImportError:
        return None


class OpenTelemetry:
    """A Tracer. The operator's SDK decides where the spans go."""

    def __init__(self, trace: Any, provider: Any = None) -> None:
        self._trace = trace
        self._tracer = trace.get_tracer("turnlog", tracer_provider=provider)

    @property
    def is_heard(self) -> bool:
        """Whether the operator has set up an SDK; that may come later than the first turn."""
        provider = self._trace.get_tracer_provider()
        return not isinstance(provider, self._trace.ProxyTracerProvider)

    def start(self, name: str, kind: str, at: int, attributes: Attributes, under: Any) -> Any:
        context = None if under is None else self._trace.set_span_in_context(under)
        kind = self._trace.SpanKind[kind]
        return self._tracer.start_span(
            name, context=context, kind=kind, start_time=at, attributes=attributes
        )

    def end(self, span: Any, at: int, attributes: Attributes, error: str | None) -> None:
        span.set_attributes(attributes)
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(end_time=at)

    def current(self, span: Any) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = self._trace.use_span(span, end_on_exit=False)
        return context


def agent_attributes(agent: AgentRef, session_id: str, model: str) -> Attributes:
    return _provider(model) | {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": agent.id,
        "gen_ai.agent.name": agent.name,
        "gen_ai.conversation.id": session_id,
        "gen_ai.request.model": model,
    }


def chat_attributes(model: str, session_id: str) -> Attributes:
    return _provider(model) | {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session_id,
        "gen_ai.request.model": model,
        "gen_ai.request.stream": True,
    }


def answer_attributes(message: k.Message) -> Attributes:
    used = message.token_usage
    # "SHOULD include all types of input tokens, including cached tokens."
    inputs = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
    return {
        "gen_ai.response.id": message.message_id,
        "gen_ai.response.model": message.model,
        "gen_ai.response.finish_reasons": [message.stop_reason],
        "gen_ai.usage.input_tokens": inputs,
        "gen_ai.usage.output_tokens": used.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": used.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": used.cache_write_tokens,
    }


def tool_attributes(result: k.ToolResult) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": result.tool_name,
        "gen_ai.tool.call.id": result.tool_use_id,
        "gen_ai.tool.type": "function",
    }


def _provider(model: str) -> Attributes:
    return {"gen_ai.provider.name": "anthropic"} if model.startswith("claude") else {}
