"""The lines of a turn in the log, and the records that they are made of."""

import io
import logging

import pytest
from logged_lines import WORD, echo, lines, running, written

from turnlog import Agent
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall
from turnlog.telemetry import logs
from turnlog.telemetry.metrics import Metrics
from turnlog.telemetry.turn_watch import TurnWatch
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app
from turnlog.tools.agents.tools import AgentTools


async def test_an_agent_that_joins_a_turn_has_a_line_with_its_tools():
    agents = [Agent("a", hands_over_to=["b"]), Agent("b", tools=[echo])]
    over = Reply(ToolCall("transfer_to_b", {"reason": WORD}))
    with written(level="info") as to:
        async with scripted_app(over, Reply("Done."), agents=agents, grace=0.0) as (app, _):
            await app.run_turn("Go")
    begin = ("turn started", "agent has tools")
    said = [line for line in lines(to) if line["message"] in begin]
    told = [(line["message"], line["agent"], line["tools"]) for line in said]
    assert told == [("turn started", "a", ""), ("agent has tools", "b", "echo")]
    assert WORD not in to.getvalue()


async def test_a_turn_that_fails_before_its_tools_are_known_has_started_all_the_same(monkeypatch):
    async def fails(tools, *_):
        raise RuntimeError(WORD)

    monkeypatch.setattr(AgentTools, "box", fails)
    with written(level="info") as to:
        async with running() as (app, _):
            await app.run_turn("Go")
    said = [line for line in lines(to) if "turn_id" in line]
    assert (said[0]["message"], said[-1]["message"]) == ("turn started", "turn ended")
    assert (said[0]["agent"], said[0]["tools"]) == ("a", "echo,crash")


async def test_tools_that_a_client_brings_have_a_line_and_a_plain_turn_has_three():
    pick = {"name": "pick", "description": "Pick.", "input_schema": {"type": "object"}}
    with written(level="info") as to:
        async with running(Reply("Yes."), Reply("Yes.")) as (app, _):
            for brought in ([], [pick]):
                await app.run_turn("Go", client_tools=brought)
    said = [line for line in lines(to) if "turn_id" in line]
    three = ["turn started", "model call", "turn ended"]
    assert [line["message"] for line in said] == [*three, three[0], "agent has tools", *three[1:]]
    assert said[4]["tools"] == "echo,crash,pick"


def test_a_call_is_timed_from_the_step_before_whatever_it_said_first():
    watch = TurnWatch("s", "t", Metrics(), lambda _: None)
    watch.began -= 5_000_000_000
    thought = k.Thinking(message_id="msg_1", content="Hm.", block_index=0)
    with written(level="info") as to:
        watch.note(s.placed(thought, s.said("Yes.", id="msg_1")))
    (line,) = lines(to)
    assert line["ms"] >= 5_000


EVERY = (
    "name msg args levelname levelno pathname filename module lineno funcName created msecs"
    " relativeCreated thread threadName process processName exc_info exc_text stack_info"
)


def test_a_handler_of_the_app_gets_records_with_all_their_fields():
    """Our lines need few of them. Those of an operator's own handler may need any."""
    seen = []
    own = logging.Handler()
    own.emit = seen.append
    with written() as to:
        logging.getLogger().addHandler(own)
        logging.getLogger("turnlog.x").info("%(n)d of %(n)d", {"n": 2}, extra={"facts": {"a": 1}})
    form = logging.Formatter(" ".join(f"%({name})s" for name in EVERY.split()))
    assert "turnlog.x" in form.format(seen[0])
    assert (seen[0].getMessage(), seen[0].levelname, seen[0].facts) == ("2 of 2", "INFO", {"a": 1})
    assert lines(to)[0]["message"] == "2 of 2"


@pytest.mark.parametrize("path", ["/srv/desk/tools.py", "(unknown file)"])
def test_a_record_that_somebody_makes_is_what_logging_makes_of_it(path):
    made = ("n", logging.INFO, path, 3, "m %s", ("x",), None, "look", None)
    with written():
        ours = logging.getLogRecordFactory()(*made)
    theirs = logging.LogRecord(*made)
    assert (ours.filename, ours.module) == (theirs.filename, theirs.module)
    assert ours.msecs.is_integer()
    assert ours.__dict__.keys() | {"taskName"} == theirs.__dict__.keys() | {"taskName"}


@pytest.mark.parametrize("form", logs.FORMS.values())
def test_a_handler_of_the_app_may_use_our_forms(form):
    own = logging.StreamHandler(io.StringIO())
    own.setFormatter(form(False))
    with written():
        logging.getLogger().handlers.insert(0, own)
        logging.getLogger("turnlog.x").info("hello")
    assert "hello" in own.stream.getvalue()


FAKES = [
    "\n",
    "\r",
    "\x0b",
    "\x1b[2K\x1b[1G",
    "\x7f",
    "\x85",
    "\x9b2K",
    "\u2028",
    "\u2029",
    "\u202e",
]


@pytest.mark.parametrize("fake", FAKES, ids=ascii)
def test_no_value_fakes_a_line_or_moves_the_cursor(fake):
    log = logging.getLogger("turnlog.x")
    with written("text", content=True) as to:
        log.info("model call", extra={"facts": {"model": f"m{fake}2026 info fake"}})
        log.info("said %s", f"m{fake}2026 info fake")
        try:
            raise ValueError(f"m{fake}2026 info fake")
        except ValueError:
            log.warning("failed", exc_info=True)
    first, second, third, *trace, end = to.getvalue().split("\n")
    assert end == ""
    assert all(line.isprintable() for line in (first, second, third, *trace))
    assert f"m{ascii(fake)[1:-1]}2026 info fake" in first
    assert f"m{ascii(fake)[1:-1]}2026 info fake" in second
    assert all(line.startswith("    ") for line in trace)


def test_an_app_keeps_the_records_that_it_makes_itself():
    class Own(logging.LogRecord):
        """Knows more than others."""

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(Own)
    try:
        with written():
            assert logging.getLogRecordFactory() is Own
    finally:
        logging.setLogRecordFactory(before)
