"""Log lines: what happened, where, and how long it took, without content."""

import ast
import logging
from decimal import Decimal
from pathlib import Path

import pytest
from logged_lines import WORD, lines, running, written

from turnlog import Agent, tool
from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.ports import Decision
from turnlog.simulator import Reply, ToolCall
from turnlog.simulator.script import Break, invalid_request
from turnlog.telemetry import logs
from turnlog.testing.apps import scripted_app

ROOT = Path(__file__).parents[2]


class Broken:
    """An engine with a bug."""

    async def open(self): ...

    async def close(self): ...

    async def answer(self, ask):
        seat = await ask.team.seat(ask.speaker)
        raise RuntimeError(f"{seat.prompt.messages}")
        yield


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
        async with running(*entries) as (app, _):
            await app.run_turn(f"Where is the {WORD}?")
    assert "turn started" in to.getvalue()
    assert "turn ended" in to.getvalue()
    assert WORD not in to.getvalue()


@pytest.mark.parametrize("form", logs.FORMS)
async def test_no_log_line_of_a_bug_holds_content(form):
    with written(form) as to:
        async with running(engine=Broken()) as (app, _):
            await app.run_turn(WORD)
    assert "RuntimeError" in to.getvalue()
    assert "test_logs.py" in to.getvalue()
    assert WORD not in to.getvalue()


async def test_log_content_shows_content():
    with written(content=True) as to:
        async with running(engine=Broken()) as (app, _):
            await app.run_turn(WORD)
    assert WORD in to.getvalue()


async def test_every_log_line_of_a_turn_names_it():
    with written() as to:
        async with running(Reply(*CALLS), Reply("Done.")) as (app, _):
            result = await app.run_turn("Go")
    at_start = "the server says:"  # of each tool, before any turn
    written_lines = [line for line in lines(to) if at_start not in line["message"]]
    first, *between, last = [line["message"] for line in written_lines]
    assert (first, last) == ("turn started", "turn ended")
    calls = ["model call", "tool call", "tool call", "model call"]
    assert sorted(between) == sorted([*calls, "a tool ran", "tool crash failed"])
    turns = {(line["session_id"], line["turn_id"]) for line in written_lines}
    assert turns == {(result.session_id, result.turn_id)}
    assert written_lines[-1]["outcome"] == "success"


async def test_log_lines_outside_a_turn_name_none():
    with written() as to:
        async with running(Reply("Yes.")) as (app, _):
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
        facts = {"model": "m\n2026 info all is well"}  # a provider says how its model is called
        logging.getLogger("turnlog.x").info("model call", extra={"facts": facts})
    assert len(to.getvalue().splitlines()) == 2


def test_values_of_other_packages_are_withheld():
    with written() as to:
        logging.getLogger("vendor").error("sent %s\nfuture: %s", WORD, WORD)
        logging.getLogger("asyncio").error("Task exception\nfuture: %s" % WORD)  # noqa: UP031 - asyncio logs like this
        logging.getLogger("vendor").error(ValueError(WORD))
        logging.getLogger("vendor").error(OSError(98, "in use"))
        logging.getLogger("vendor").info("below what is shown of others")
    messages = [line["message"] for line in lines(to)]
    assert messages[1:] == ["Task exception", "ValueError", "[Errno 98] in use"]
    assert WORD not in to.getvalue()


def test_our_templates_hold_no_content():
    """Values are withheld when a template is filled, so no template may be filled before."""
    sources = {file: file.read_text() for file in ROOT.glob("turnlog/**/*.py")}
    templates = 0
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)) if "_log" in source else ():
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="_log")), args=[first, *_]):
                    assert isinstance(first, ast.Constant), f"{file}:{node.lineno}"
                    templates += 1
    assert templates > 20  # they are still found


def test_log_settings_are_checked(tmp_path):
    file = tmp_path / "turnlog.toml"
    file.write_text('log_content = true\nlog_format = "json"\n')
    assert load({}, file).log_content is True
    assert load({"TURNLOG_LOG_CONTENT": "false"}, file).log_content is False
    for name, value in {"LOG_FORMAT": "xml", "LOG_LEVEL": "loud", "LOG_CONTENT": "yes"}.items():
        with pytest.raises(ConfigError, match="must be one of"):
            load({f"TURNLOG_{name}": value}, file)


async def test_each_model_call_and_each_tool_call_has_a_line_with_numbers():
    with written(level="info") as to:
        async with running(Reply(*CALLS), Reply("Done.")) as (app, _):
            result = await app.run_turn("Go")
    said = lines(to)
    models = [line for line in said if line["message"] == "model call"]
    assert sum(line["input"] for line in models) == result.usage.input_tokens
    assert sum(line["output"] for line in models) == result.usage.output_tokens
    assert sum(Decimal(line["cost_usd"]) for line in models) == result.cost_usd
    assert all(line["ms"] >= 0 and line["agent"] == "a" for line in models)
    tools = {line["tool"]: line["outcome"] for line in said if line["message"] == "tool call"}
    assert tools == {"echo": "ok", "crash": "failed"}
    (began,) = [line for line in said if line["message"] == "turn started"]
    assert (began["agent"], began["tools"]) == ("a", "echo,crash")
    assert began["model"] == models[0]["model"]
    assert WORD not in to.getvalue()


def own_tool(name):
    """A tool of a user's module, which logs."""

    def look(text: str) -> str:
        """Look."""
        logging.getLogger(f"{name}.inside").info("looked at %s", text)
        logging.getLogger("desk").info("looked at %s", text)
        logging.getLogger("pytest").info("a package says %s", text)
        if text == "nothing":
            raise LookupError(f"{text} is there")
        return text

    look.__module__ = name
    return tool(writes=False)(look)


@pytest.mark.parametrize(
    ("alone", "shown"), [(True, f"looked at {WORD}"), (False, "looked at [wi")]
)
async def test_what_a_tool_logs_appears_with_its_turn(alone, shown):
    call = ToolCall("look", {"text": WORD})
    agents = [Agent("a", tools=[own_tool("my_tools")])]
    with written(level="info") as to:
        async with scripted_app(Reply(call), Reply("Done."), agents=agents) as (app, _):
            assert app.tools.modules == {"my_tools"}
            form = {"content": False, "to": to, "tools": app.tools.modules}
            logs.set_up("json", "info", development=alone, **form)
            result = await app.run_turn("Go")
    said = [line for line in lines(to) if not line["logger"].startswith("turnlog.")]
    assert [line["logger"] for line in said] == ["my_tools.inside", "desk"]
    for line in said:
        assert line["message"].startswith(shown)
        assert (line["turn_id"], line["level"]) == (result.turn_id, "info")


async def test_outside_of_a_tool_other_loggers_are_heard_from_warning_on():
    with written(level="info") as to:
        logging.getLogger("desk").info("nothing")
        logging.getLogger("desk").warning("something")
    assert [line["message"] for line in lines(to)] == ["something"]


async def test_a_call_that_nobody_allowed_is_no_failure():
    @tool(approval="always")
    def send() -> None:
        """Send."""

    call = Reply(ToolCall("send", {}))
    with written(level="info") as to:
        async with scripted_app(call, Reply("No."), agents=[Agent("a", tools=[send])]) as (app, _):
            waiting = await app.run_turn("Go")
            await app.answer_approval("local", waiting.waiting[0], Decision(approved=False))
            await app.rest()
    (line,) = [line for line in lines(to) if line["message"] == "tool call"]
    assert line["outcome"] == "rejected"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({}, r"The tool failed (LookupError: nothing is there, test_logs.py line "),
        ({"tool_errors": "type"}, "The tool failed (LookupError). The server's log says where."),
        ({"auth_secret": "s" * 32}, "The tool failed (LookupError). The server's log says where."),
        ({"auth_secret": "s" * 32, "tool_errors": "full"}, "The tool failed (LookupError: nothing"),
    ],
)
async def test_what_a_tool_raises_is_told_in_full_only_where_nobody_else_is(settings, error):
    call = ToolCall("look", {"text": "nothing"})
    agents = [Agent("a", tools=[own_tool("my_tools")])]
    async with scripted_app(Reply(call), Reply("Done."), agents=agents, **settings) as (app, _):
        result = await app.run_turn("Go")
    (told,) = [e.event.error for e in result.events if e.event.type == "tool_result"]
    assert told.startswith(error)


async def test_what_a_tool_raised_is_in_the_log_in_full_only_in_development():
    call = ToolCall("crash", {"text": WORD})
    for alone in (True, False):
        with written(level="info") as to:
            async with running(Reply(call), Reply("Done.")) as (app, _):
                logs.set_up("json", "info", content=False, to=to, development=alone)
                await app.run_turn("Go")
        (line,) = [line for line in lines(to) if line["message"] == "tool crash failed"]
        assert (f"ValueError: no {WORD}" in line["trace"]) == alone
        assert "logged_lines.py" in str(line["trace"])
