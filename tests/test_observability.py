"""Log lines and spans: what happened, where, and how long it took, without content."""

import ast
import io
import json
import logging
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from turnlog import Agent, Settings, create_app, tool
from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.events.base import AgentRef
from turnlog.simulator import Reply, SimulatedClaude, ToolCall
from turnlog.simulator.script import Break, Usage, invalid_request
from turnlog.stores.memory.store import MemoryStore
from turnlog.telemetry import logs, spans
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.turn_watch import TurnWatch

ROOT = Path(__file__).parent.parent
WORD = "xylophone"  # the secret one


@tool(writes=False)
async def echo(text: str) -> str:
    """Says it again."""
    logging.getLogger("turnlog.tests").info("a tool ran")
    return text


@tool(writes=False)
def crash(text: str) -> str:
    """Breaks, and says why."""
    try:
        raise KeyError(text)
    except KeyError as error:
        raise ValueError(f"no {text}") from error


class Broken:
    """An engine with a bug."""

    async def open(self): ...

    async def close(self): ...

    async def answer(self, ask):
        seat = await ask.team.seat(ask.speaker)
        raise RuntimeError(f"{seat.prompt.messages}")
        yield


@asynccontextmanager
async def running(*entries, engine="claude", **settings):
    async with SimulatedClaude(*entries, pace=0).serve() as url:
        made = Settings(api_key="k", base_url=url, grace=0.0, **settings)
        agents = [Agent("a", tools=[echo, crash])]
        app = create_app(agents, settings=made, store=MemoryStore(), engine=engine)
        async with app:
            yield app


@contextmanager
def written(form="json", level="debug", content=False):
    """What is logged inside."""
    root, ours = logging.getLogger(), logging.getLogger("turnlog")
    before = (root.handlers[:], root.level, ours.level)
    to = io.StringIO()
    logs.set_up(form, level, content=content, to=to)
    try:
        yield to
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])


def lines(to):
    return [json.loads(line) for line in to.getvalue().splitlines()]


# log lines

CALLS = [ToolCall("echo", {"text": WORD}), ToolCall("crash", {"text": WORD})]
SPEECHES = {
    "question, answer, arguments, results": [Reply(f"The {WORD}.", *CALLS), Reply(WORD)],
    "wrong arguments": [Reply(ToolCall("echo", {WORD: WORD})), Reply(WORD)],
    "unknown tool": [Reply(ToolCall(WORD, {})), Reply(WORD)],
    "unreadable arguments": [Reply(ToolCall("echo", raw_json=f'{{"{WORD}')), Reply(WORD)],
    "error of the API": [invalid_request(WORD)],
    "error in mid-answer": [Reply(WORD * 9, ending=Break(5, message=WORD))],
}


@pytest.mark.parametrize("form", logs.FORMS)
@pytest.mark.parametrize("entries", SPEECHES.values(), ids=SPEECHES)
async def test_no_log_line_holds_content(entries, form):
    with written(form) as to:
        async with running(*entries) as app:
            await app.run_turn(f"Where is the {WORD}?")
    assert "turn started" in to.getvalue()
    assert "turn ended" in to.getvalue()
    assert WORD not in to.getvalue()


@pytest.mark.parametrize("form", logs.FORMS)
async def test_no_log_line_of_a_bug_holds_content(form):
    with written(form) as to:
        async with running(engine=Broken()) as app:
            await app.run_turn(WORD)
    assert "RuntimeError" in to.getvalue()
    assert "test_observability.py" in to.getvalue()
    assert WORD not in to.getvalue()


async def test_log_content_shows_content():
    with written(content=True) as to:
        async with running(engine=Broken()) as app:
            await app.run_turn(WORD)
    assert WORD in to.getvalue()


async def test_every_log_line_of_a_turn_names_it():
    with written() as to:
        async with running(Reply(*CALLS), Reply("Done.")) as app:
            result = await app.run_turn("Go")
    found = lines(to)
    said = ["turn started", "a tool ran", "tool crash failed", "turn ended"]
    assert [line["message"] for line in found] == said
    assert {(line["session_id"], line["turn_id"]) for line in found} == {
        (result.session_id, result.turn_id)
    }
    assert found[-1]["outcome"] == "success"


async def test_log_lines_outside_a_turn_name_none():
    with written() as to:
        async with running(Reply("Yes.")) as app:
            await app.run_turn("Go")
            logging.getLogger("turnlog.tests").info("after it")
    assert "turn_id" not in lines(to)[-1]


def test_a_text_line_has_the_facts_after_the_message():
    with written("text") as to, logs.belonging_to("s1", "t1"):
        logging.getLogger("turnlog.x").warning("it took %d s", 3)
    assert to.getvalue().endswith(
        "Z warning it took 3 s logger=turnlog.x session_id=s1 turn_id=t1\n"
    )


def test_a_value_cannot_fake_a_log_line():
    with written("text") as to:
        logging.getLogger("turnlog.x").error("%s %s failed", "GET", "/a\n2026 info all is well")
    assert len(to.getvalue().splitlines()) == 1


def test_values_of_other_packages_are_withheld():
    with written() as to:
        logging.getLogger("vendor").error("sent %s\nfuture: %s", WORD, WORD)
        logging.getLogger("asyncio").error("Task exception\nfuture: %s" % WORD)  # noqa: UP031
        logging.getLogger("vendor").error(ValueError(WORD))
        logging.getLogger("vendor").error(OSError(98, "in use"))
        logging.getLogger("vendor").info("below what is shown of others")
    said = [line["message"] for line in lines(to)]
    assert said[1:] == ["Task exception", "ValueError", "[Errno 98] in use"]
    assert WORD not in to.getvalue()


def test_our_templates_hold_no_content():
    """A line is withheld by what is filled in; so nothing may be filled in before."""
    for file in ROOT.glob("turnlog/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="_log")), args=[first, *_]):
                    assert isinstance(first, ast.Constant), f"{file}:{node.lineno}"


def test_log_settings_are_checked(tmp_path):
    file = tmp_path / "turnlog.toml"
    file.write_text('log_content = true\nlog_format = "json"\n')
    assert load({}, file).log_content is True
    assert load({"TURNLOG_LOG_CONTENT": "false"}, file).log_content is False
    for name, value in {"LOG_FORMAT": "xml", "LOG_LEVEL": "loud", "LOG_CONTENT": "yes"}.items():
        with pytest.raises(ConfigError, match="must be one of"):
            load({f"TURNLOG_{name}": value}, file)


# spans


class Recorded:
    """A Tracer that remembers."""

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
    async with running(*entries) as app:
        events = (await app.run_turn(WORD)).events
    tracer = Recorded()
    watch = TurnWatch("s", "t", Metrics(), lambda _: None, tracer)
    with watch.started(AgentRef(id="a", name="A"), "claude-x"):
        watch.show(events)
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


async def test_spans_arrive_in_opentelemetry(monkeypatch):
    """Only where the SDK is installed, which the project itself does not need."""
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider, exporter = TracerProvider(), memory.InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = spans.OpenTelemetry(trace, provider)
    monkeypatch.setattr("turnlog.turns.active.installed_tracer", lambda: tracer)
    async with running(Reply(*CALLS), invalid_request(WORD)) as app:
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
