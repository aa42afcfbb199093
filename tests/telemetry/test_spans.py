"""Spans of a turn by the GenAI conventions, without content."""

from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnlog import Agent, tool
from turnlog.events.base import AgentRef
from turnlog.simulator import Reply, ToolCall
from turnlog.simulator.script import Usage, invalid_request
from turnlog.telemetry import spans
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.turn_watch import TurnWatch
from turnlog.testing.apps import scripted_app

WORD = "xylophone"  # the secret one
CALLS = [ToolCall("echo", {"text": WORD}), ToolCall("crash", {"text": WORD})]


@tool(writes=False)
async def echo(text: str) -> str:
    """Says it again."""
    return text


@tool(writes=False)
def crash(text: str) -> str:
    """Breaks."""
    raise ValueError(f"no {text}")


def running(*entries):
    return scripted_app(*entries, agents=[Agent("a", tools=[echo, crash])], grace=0.0)


class RecordingTracer:
    """A Tracer that keeps the spans."""

    def __init__(self):
        self.ended = []

    def start(self, name, kind, at, attributes, under):
        return {"name": name, "kind": kind, "from": at, "under": under, **attributes}

    def end(self, span, at, attributes, error):
        self.ended.append(span | attributes | {"to": at, "error": error})

    def current(self, span):
        return contextmanager(lambda: iter([None]))()


async def watched(*entries):
    """The spans of a turn with these answers."""
    async with running(*entries) as (app, _):
        events = (await app.run_turn(WORD)).events
    tracer = RecordingTracer()
    watch = TurnWatch("s", "t", Metrics(), lambda _: None, tracer)
    watch.started(AgentRef(id="a", name="A"), "claude-x").run(watch.show, events)
    watch.ended()
    return tracer.ended


async def test_a_turn_is_a_tree_of_spans_without_content():
    used = Usage(input_tokens=10, output_tokens=5, cache_read=3)
    ended = await watched(Reply(*CALLS, usage=used, id="msg_1"), Reply(WORD))
    names = ["chat claude-x", "execute_tool echo", "execute_tool crash", "chat claude-x"]
    assert [span["name"] for span in ended] == [*names, "invoke_agent A"]
    assert [span["error"] for span in ended] == [None, None, "tool_error", None, None]
    assert all(span["under"]["name"] == "invoke_agent A" for span in ended[:-1])
    assert all(span["from"] <= span["to"] for span in ended)
    chat = {name: value for name, value in ended[0].items() if name.startswith("gen_ai.")}
    assert chat["gen_ai.request.model"] == "claude-x"
    assert chat["gen_ai.usage.input_tokens"] == 13
    assert chat["gen_ai.usage.output_tokens"] == 5
    assert chat["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert chat["gen_ai.response.id"] == "msg_1"
    assert WORD not in str(ended)


async def test_the_span_of_a_failed_turn_has_its_error():
    [ended] = await watched(invalid_request(WORD))
    assert (ended["name"], ended["error"]) == ("invoke_agent A", "invalid_request")
    assert WORD not in str(ended)


def test_nothing_is_traced_until_somebody_listens(monkeypatch):
    provider = trace.ProxyTracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    assert spans.listening_tracer() is None
    provider = TracerProvider()
    assert spans.listening_tracer() is not None


async def test_spans_arrive_in_opentelemetry(monkeypatch):
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = spans.OpenTelemetry(trace, provider)
    monkeypatch.setattr("turnlog.telemetry.spans.listening_tracer", lambda: tracer)
    async with running(Reply(*CALLS), invalid_request(WORD)) as (app, _):
        await app.run_turn(WORD)
        await app.end_turns()
    ended = exporter.get_finished_spans()
    model = app.settings.model
    tools = ["execute_tool echo", "execute_tool crash"]
    names = [f"chat {model}", *tools, f"chat {model}", "invoke_agent A"]
    assert [span.name for span in ended] == names
    assert {span.parent.span_id for span in ended[:-1]} == {ended[-1].context.span_id}
    assert ended[-1].attributes["error.type"] == "invalid_request"
    assert WORD not in "".join(span.to_json() for span in ended)
