"""Claims are compared with what the turn did: measured on tables of turns, true and false."""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnlog.events import kinds as k
from turnlog.projections.claims import may_claim, unfounded
from turnlog.testing import samples as s

TABLES = Path(__file__).parent / "claims"
CALL = re.compile(
    r"(?P<name>[\w.]+)(?: (?P<args>\{.*?\}))?(?: -> (?P<result>.+)| (?P<fate>[a-z ]+))$"
)


class Row(NamedTuple):
    question: str
    tools: str
    answer: str
    earlier: str = ""


def rows(name):
    lines = (TABLES / f"{name}.md").read_text().splitlines()
    cells = [
        line.removeprefix("|").removesuffix("|").split("|") for line in lines if line[:1] == "|"
    ]
    names, _, *table = [[cell.strip() for cell in row] for row in cells]
    return [Row(**dict(zip(names, row, strict=True))) for row in table]


def turns_of(row):
    """The turn as the row tells it, and the events before it.

    `…` before the question: it is a later one, and nobody sees what came before.
    """
    earlier = [turn.split(" =>") for turn in row.earlier.split(" // ") if turn]
    turns = [events_of(*map(str.strip, turn)) for turn in earlier]
    turn = events_of(row.question.lstrip("… "), row.tools, row.answer)
    if row.question.startswith("…"):
        return s.log_of([s.asked()], turn)[1:], []
    log = s.log_of(*turns, turn)
    return log[-len(turn) :], log[: -len(turn)]


def events_of(question, tools, answer):
    calls = [e for n, c in enumerate(filter(None, tools.split("; "))) for e in called(f"c{n}", c)]
    return [s.asked(question), *calls, s.said(answer.replace("\\n", "\n"))]


def findings(row):
    return unfounded(*turns_of(row))


def called(id, text):
    call = CALL.fullmatch(text)
    name, fate = call["name"], call["fate"]
    yield k.ToolUse(tool_use_id=id, tool_name=name, args=json.loads(call["args"] or "{}"))
    if fate is None:
        yield s.result(id, json.loads(call["result"]), name)
        return
    assert fate in ("failed", "in doubt", "settled")
    yield k.ToolResult(tool_use_id=id, tool_name=name, result=None, success=False, duration=1,
                       error="no", in_doubt=fate != "failed")  # fmt: skip
    if fate == "settled":
        yield k.ToolSettled(tool_use_id=id, tool_name=name, happened=True, decided_by="alice")


def flagged(row):
    return bool(findings(row))


def measured(false, true):
    """How many of the flagged are false claims, and how many of the false claims are flagged."""
    missed = [row for row in rows(false) if not flagged(row)]
    wrong = [row for row in rows(true) if flagged(row)]
    found = len(rows(false)) - len(missed)
    return found / (found + len(wrong)), found / len(rows(false)), missed, wrong


@pytest.mark.parametrize(
    ("false", "true", "least"),
    [
        ("unfounded", "founded", 0.94),
        ("unasked_unfounded", "unasked_founded", 0.94),
        ("unseen_unfounded", "unseen_founded", 0.94),
        ("unseen_unasked_unfounded", "unseen_unasked_founded", 0.94),
    ],
)
def test_the_check_is_right_and_finds_most(false, true, least, capsys):
    precision, recall, missed, wrong = measured(false, true)
    with capsys.disabled():
        sizes = f"{len(rows(false))} false and {len(rows(true))} true"
        sys.stdout.write(f"\n{false}: precision {precision:.3f}, recall {recall:.3f} of {sizes}\n")
    assert precision >= 0.98, wrong
    assert recall >= least, missed


def test_a_greeting_is_no_request_for_ideas():
    """The greeting of spec 002, and its failure mode: context confusion."""
    assert flagged(Row("hello, how are you?", "", "Fine! Here are your tasks:\\n- Buy milk"))


def test_the_tables_are_as_large_as_promised():
    assert len(rows("unfounded")) >= 60
    assert len(rows("founded")) >= 80
    assert len(rows("unasked_unfounded")) >= 20
    assert len(rows("unasked_founded")) >= 20


WHY = {
    "Nothing was deleted in this turn: no tool was called.": ("Delete it", "", "I've deleted it."),
    "Nothing was deleted in this turn: there was only list_tasks.": (
        "Delete my task", "list_tasks -> [1]", "I've deleted the task."),
    "Nothing was deleted in this turn: delete_task did not succeed.": (
        "Delete task 5", 'delete_task {"id":5} failed', "I've deleted the task."),
    "3 were claimed, 1 were deleted.": (
        "Delete 3 tasks", 'delete_task {"id":5} -> "ok"', "I've deleted 3 tasks."),
    "'INV-7001' is in no tool result, argument or question of this turn.": (
        "Create it", 'create_invoice {"a":1} -> {"no":"INV-7002"}', "I created invoice INV-7001."),
    "No tool result of this turn holds a count of 4.": (
        "List my tasks", "list_tasks -> [1]", "You have 4 tasks."),
    "No tool was called that could have counted 4.": (
        "How many tasks do I have?", "", "You have 4 tasks."),
    "No tool was called that could have told of these tasks.": (
        "Show my tasks", "", "Your tasks are: Buy milk and Call Bob."),
}  # fmt: skip


@pytest.mark.parametrize(("why", "row"), WHY.items(), ids=WHY)
def test_a_finding_says_why(why, row):
    (finding,) = findings(Row(*row))
    assert (finding.why, finding.claim) == (why, row[2])


def test_a_finding_names_its_message_and_keeps_the_words_as_they_were():
    log = s.log_of(
        [s.asked("Add it"), s.said('**Sure.** I\'ve added the task "Buy *milk*".', id="m")]
    )
    (finding,) = unfounded(log)
    assert finding == ("m", 'I\'ve added the task "Buy *milk*".', finding.why)


def test_what_was_cut_short_claims_nothing():
    for stop in ("cancelled", "interrupted"):
        assert (
            unfounded(s.log_of([s.asked("Add it"), s.said("I've added the task.", stop=stop)]))
            == []
        )


def test_work_is_founded_wherever_in_the_turn_it_was_done():
    said = s.said("I've added the task.", s.call("a", "add_task"), stop="tool_use")
    turn = [
        s.asked(),
        said,
        s.used("a", "add_task"),
        s.result("a", {"id": 1}, "add_task"),
        s.said("Ok."),
    ]
    assert unfounded(s.log_of(turn)) == []


def test_counts_of_what_files_and_searches_told_are_let_be():
    asked = msgspec.structs.replace(s.asked("How many tasks do I have?"), files=[{"id": "f"}])
    assert unfounded(s.log_of([asked, s.said("You have 7 tasks.")])) == []
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    said = s.said(search, "You have 7 tasks.")
    assert unfounded(s.log_of([s.asked("How many tasks do I have?"), said])) == []


def test_a_result_too_large_to_be_read_counts_as_unread():
    turn = [s.asked("List my tasks"), s.used("a", "list_tasks")]
    many = [{"title": f"number {n}"} for n in range(30_000)]
    turn += [s.result("a", many, "list_tasks"), s.said("You have 3 tasks.")]
    assert unfounded(s.log_of(turn)) == []


def test_a_turn_has_only_so_many_findings():
    said = " ".join(f"I've deleted task {n}." for n in range(50))
    assert len(unfounded(s.log_of([s.asked(), s.said(said)]))) == 20


def test_plain_talk_is_not_worth_a_closer_look():
    assert not may_claim("Hello! The weather is fine, and there is nothing to do.")
    assert all(map(may_claim, [row.answer for row in rows("unfounded")]))


PIECES = st.sampled_from([
    "I've created ", "created ", "you have 3 ", "The task was ", "“", '"', "```", "'a' ", "(", ", ",
    "I've added a-", "ich habe ", " ", "\n", "3 tasks ", "was deleted and ", "**", "I've deleted ",
    "the task", "it", ".", "?", "not ", "order INV-1001", "|", "Your tasks are: ", "- ",
    "by the way ", "_", "’s ", "„", "gelöscht ", "your ", "list ", "the ", "one ",
])  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)), st.text())
@example("I've created " + "a" * 5000, "Create it")
def test_no_text_upsets_the_check(answer, question):
    log = s.log_of([s.asked(question), s.said(answer)])
    assert all(finding.claim and finding.why for finding in unfounded(log))
    assert may_claim(answer) or not unfounded(log)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_no_result_upsets_the_check(result):
    turn = [
        s.asked("List my tasks"),
        s.used("a", "list_tasks"),
        s.result("a", result, "list_tasks"),
    ]
    unfounded(s.log_of([*turn, s.said("You have 7 tasks. I've created task 1000.")]))
