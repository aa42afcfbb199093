"""Reading an answer costs as many steps as it is long. Counted, not timed."""

import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from turnlog.projections import claims
from turnlog.projections.claims import may_claim, unfounded
from turnlog.projections.claims.results import MOST_VALUES
from turnlog.projections.claims.text import MOST_TEXT
from turnlog.testing import samples as s

pytestmark = pytest.mark.slow  # long texts

PACKAGE = str(Path(claims.__file__).parent)
SHORT, LONG = MOST_TEXT // 16, MOST_TEXT // 4  # characters
# Repeated without end, with the numbers counted up where there is a %.
# fmt: off
HOSTILE = [
    "\n", "\n\n> ", "a ", "a", "1,", "1 ", "1.", "(", "((((", ", ", ". ", "! ", "-", "a-", "'",
    "'a' ", '"', '"a', "“", "“a” ", "„", "```", "**", "- ", "- a\n", "1. a\n", "# ", "| ", "and ",
    "so ", "I ", "i've ", "I've created ", "created ", "deleted it, ", "was deleted and ",
    "The task was ", "I've added a-", "I've deleted task %. ", "I've deleted % tasks. ",
    "I created invoice INV-%. ", "ich habe ", "wurde gelöscht ", "ich habe sie gelöscht, ",
    "marked ", "if ", "not ", "to be ", "now ", "you have ", "you have 3 ", "you have % tasks ",
    "You have % tasks. ", "3 tasks ", "task ", "your ", "your tasks ", "Your tasks are: ",
    "Your tasks are: %\n", "Your tasks are:\n- a%\n", "Your tasks are A ", "here are your ",
    "the ", "the the list ", "of the ", "by ", "on 1 ", "Dear ", "add the task, ", "my tasks ",
]
# fmt: on


class Steps:
    """Counts the instructions of the interpreter inside the package, while it is open."""

    def __init__(self):
        self.count = 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *exc):
        sys.settrace(self._before)

    def _enter(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame, event, arg):
        self.count += event == "opcode"
        return self._step


def steps(log, before=()):
    with Steps() as counted:
        unfounded(log, before)
    return counted.count


def answered(text, *results, question="Delete my tasks and show them", tool="list_tasks"):
    calls = [
        event
        for n, value in enumerate(results)
        for event in (s.used(f"c{n}", tool, task_id=n), s.result(f"c{n}", value, tool))
    ]
    return s.log_of([s.asked(question), *calls, s.said(text)])


def text_of(piece, length):
    pieces = (piece.replace("%", str(n)) for n in range(1, length))
    return "".join(pieces)[:length]


def is_linear(short, long, times):
    """A quadratic cost would be `times` times as much again."""
    return long <= short * times * 1.3 + 20_000


@pytest.mark.parametrize("piece", HOSTILE)
def test_an_answer_four_times_as_long_costs_four_times_as_much(piece):
    short, long = (steps(answered(text_of(piece, length), [1, 2])) for length in (SHORT, LONG))
    assert is_linear(short, long, LONG // SHORT)
    assert long < LONG * 150, "steps a character"


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_question_four_times_as_long_costs_four_times_as_much(piece):
    said = "I've deleted the tasks. You have 3 tasks. Your tasks are: Run."
    short, long = (
        steps(answered(said, question=text_of(piece, length))) for length in (SHORT, LONG)
    )
    assert is_linear(short, long, LONG // SHORT)


@pytest.mark.parametrize("piece", ["\n", "a ", "I've deleted task 1. ", "You have 3 tasks. "])
def test_what_is_longer_than_the_bound_costs_no_more(piece):
    most, more = (steps(answered(text_of(piece, length))) for length in (MOST_TEXT, MOST_TEXT * 10))
    assert more <= most * 1.01


RESULTS = {
    "records": lambda n: {"id": n, "title": f"Task {n}", "status": "open"},
    "lists": lambda n: [[n], [n, n]],
    "texts": lambda n: f"Found {n} tasks, all of them open",
    "text blocks": lambda n: {"content": [{"type": "text", "text": f'[{{"id": {n}}}]'}]},
    "nothing": lambda n: None,
}


SAID = (
    "I've deleted %99 tasks. You have 7% tasks. I created order S-ORD100%. Your tasks are: Run%. "
)


@pytest.mark.parametrize("tool", ["list_tasks", "delete_task", "create_task", "call"])
@pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
def test_many_sentences_and_many_results_are_added_not_multiplied(value, tool):
    def cost(sentences, results):
        said = "".join(SAID.replace("%", str(n)) for n in range(sentences))
        return steps(answered(said, *map(value, range(results)), tool=tool))

    one, more_said, more_returned, both = cost(25, 25), cost(100, 25), cost(25, 100), cost(100, 100)
    assert is_linear(one, more_said, 4)
    assert is_linear(one, more_returned, 4)
    assert both <= more_said + more_returned


@pytest.mark.parametrize(
    "result",
    [
        lambda n: list(range(n)),
        lambda n: [{"id": i, "tags": ["a", "b"]} for i in range(n // 4)],
        lambda n: {f"key{i}": i for i in range(n)},
        lambda n: "word, " * n,
        lambda n: [{"type": "text", "text": "[1, 2"}] * n,
    ],
    ids=["list", "records", "fields", "text", "blocks"],
)
def test_a_large_result_costs_as_much_as_it_is_large_up_to_the_bound(result):
    said = "You have 77 tasks. I created order S-ORD1001."
    short, long, beyond = (
        steps(answered(said, result(n))) for n in (1_000, 4_000, MOST_VALUES * 20)
    )
    assert is_linear(short, long, 4)
    assert beyond <= is_enough(long)


def is_enough(steps_at_a_fifth):
    """For whatever is read up to the bound."""
    return steps_at_a_fifth * 8 + 20_000


def test_the_events_before_a_turn_are_read_up_to_a_bound():
    turn = [s.asked("Show my tasks"), s.used("a"), s.result("a", [1, 2, 3]), s.said("There are 3.")]
    last = [s.asked("hello"), s.said("By the way, you have 9 open tasks.")]

    def cost(turns):
        log = s.log_of(*[turn] * turns, last)
        return steps(log[-2:], log[:-2])

    assert cost(500) <= cost(50) * 1.1


def test_a_long_answer_is_looked_over_in_a_few_steps():
    with Steps() as counted:
        may_claim(text_of("the weather is fine ", MOST_TEXT))
    assert counted.count < MOST_TEXT * 3


def test_one_expression_reads_what_people_write():
    """It is matched from where it ended last: no character is read twice for the same word."""
    modules = [import_module(f"{claims.__name__}.{m.name}") for m in iter_modules([PACKAGE])]
    found = {name for m in modules for name, v in vars(m).items() if isinstance(v, re.Pattern)}
    assert found == {"_WORD", "_OPTIONAL"}  # the second reads the tables of words
