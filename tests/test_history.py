"""What the model is told: whatever happened, a history that the API takes."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.projections.history.fold import history, tell
from turnlog.projections.history.lint import lint
from turnlog.projections.history.messages import MOST_OF_A_RESULT
from turnlog.projections.history.request import Request
from turnlog.projections.history.window.fold import Window
from turnlog.simulator import rules, sign
from turnlog.testing import samples as s

KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def thought(said="Hm."):
    return {"type": "thinking", "thinking": said, "signature": sign(said)}


def told(*turns, **more):
    """The history, once lint and the API's own rules have taken it."""
    messages = history(s.log_of(*turns), **more)
    assert lint(Request({"messages": messages})) == []
    body = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": messages}
    rules.check(KEY, json.dumps(body).encode())
    return messages


def user(*blocks):
    return {"role": "user", "content": [s.text(b) if isinstance(b, str) else b for b in blocks]}


def claude(*blocks):
    return user(*blocks) | {"role": "assistant"}


def tool_result(id, content="seen", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


NEXT = [s.asked("And now?")]
ROUND = [s.asked("Look."), s.said("I look.", s.call("a"), stop="tool_use"), s.used("a")]


def test_a_conversation_is_told_as_it_was():
    messages = told([s.asked("Hello."), s.said("Hi.")], NEXT)
    assert messages == [user("Hello."), claude("Hi."), user("And now?")]


def test_a_tool_call_and_its_result_stay_together():
    messages = told([*ROUND, s.result("a"), s.said("Done.")], NEXT)
    assert messages[1:3] == [claude("I look.", s.call("a")), user(tool_result("a"))]


def test_parallel_results_are_told_in_one_message():
    asks = s.said(s.call("a"), s.call("b"), stop="tool_use")
    turn = [s.asked(), asks, s.used("a"), s.used("b"), s.result("a"), s.result("b"), s.said("Ok.")]
    assert told(turn, NEXT)[2] == user(tool_result("a"), tool_result("b"))


@pytest.mark.parametrize(
    ("value", "content"),
    [("", "(empty)"), ("as it is", "as it is"), ({"a": [1]}, '{"a":[1]}'), (None, "null")],
)
def test_a_result_is_told_as_text(value, content):
    assert told([*ROUND, s.result("a", value), s.said("Ok.")], NEXT)[2] == user(
        tool_result("a", content)
    )


@pytest.mark.parametrize(("error", "content"), [("it broke", "it broke"), ("", "(empty)")])
def test_a_failed_result_says_so_and_is_never_empty(error, content):
    failed = [*ROUND, s.failed("a", error), s.said("Sorry.")]
    assert told(failed, NEXT)[2] == user(tool_result("a", content, is_error=True))


def test_a_call_without_a_result_is_not_told():
    cut = [s.asked("Look."), s.said("I lo", s.call("a"), stop="max_tokens")]
    assert told(cut, NEXT)[1] == claude("I lo")


def test_a_turn_that_failed_leaves_its_question():
    messages = told([s.asked("One."), s.broke()], [s.asked("Two.")])
    assert messages == [user("One.", "Two.")]


def test_an_interrupted_answer_is_told_as_far_as_it_was_shown():
    messages = told([s.asked("One."), s.said("Half of", stop="interrupted"), s.broke()], NEXT)
    assert messages == [user("One."), claude("Half of"), user("And now?")]


@pytest.mark.parametrize("empty", [s.said(), s.said(""), s.said(" \n")])
def test_an_empty_answer_is_not_told(empty):
    assert told([s.asked("One."), empty], [s.asked("Two.")]) == [user("One.", "Two.")]


def test_a_question_after_open_results_comes_behind_them():
    turn = [*ROUND, s.result("a"), s.broke()]
    assert told(turn, NEXT)[2] == user(tool_result("a"), "And now?")


def test_a_refused_turn_is_left_out_whole():
    refused = [s.asked("Bad."), s.said("I won't", stop="refusal")]
    assert told([s.asked("One."), s.said("Two.")], refused, NEXT) == [
        user("One."),
        claude("Two."),
        user("And now?"),
    ]


def test_a_paused_answer_goes_on_as_one():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    paused = [s.asked("One."), s.said(search, stop="pause_turn"), s.said(found, "Here.")]
    assert told(paused, NEXT)[1] == claude(search, found, "Here.")


def test_a_search_that_was_cut_off_is_not_told_and_harms_nothing_else():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    whole = [*ROUND, s.result("a"), s.said("Done.")]
    messages = told(whole, [s.asked("One."), s.said(search, stop="max_tokens")], NEXT)
    assert messages[1:3] == [claude("I look.", s.call("a")), user(tool_result("a"))]
    assert messages[-1] == user("One.", "And now?")


def test_a_huge_result_is_told_in_part():
    turn = [*ROUND, s.result("a", "x" * (MOST_OF_A_RESULT + 1)), s.said("Long.")]
    (block,) = told(turn, NEXT)[2]["content"]
    assert block["content"].startswith("x" * MOST_OF_A_RESULT)
    assert block["content"].endswith(f"[cut off here: {MOST_OF_A_RESULT + 1} characters in all]")


def test_thoughts_are_told_with_their_signatures():
    redacted = {"type": "redacted_thinking", "data": "EmwK"}
    turn = [s.asked("One."), s.said(thought(), redacted, "Hi.")]
    assert told(turn, NEXT)[1] == claude(thought(), redacted, "Hi.")
    assert told(turn, NEXT, thoughts=False)[1] == claude("Hi.")


def test_a_thought_that_was_never_signed_is_not_told():
    unsigned = {"type": "thinking", "thinking": "I was cut", "signature": ""}
    assert told([s.asked("One."), s.said(unsigned, stop="max_tokens")], NEXT) == [
        user("One.", "And now?")
    ]


def test_thoughts_from_before_a_move_are_left_out():
    before = [s.asked("One."), s.said(thought(), "Hi.")]
    moving = [s.asked("Two."), k.HistoryAnchored(anchor=0), s.said(thought("New."), "Ho.")]
    messages = told(before, moving, NEXT)
    assert messages[1] == claude("Hi.")
    assert messages[3] == claude(thought("New."), "Ho.")


def test_calls_of_one_id_are_told_apart_and_keep_their_results():
    other = [*ROUND, s.result("a", "other"), s.said("Once more.")]
    messages = told([*ROUND, s.result("a"), s.said("Done.")], other, NEXT)
    assert messages[1:3] == [claude("I look.", s.call("a")), user(tool_result("a"))]
    assert messages[5:7] == [claude("I look.", s.call("a_2")), user(tool_result("a_2", "other"))]


def test_a_call_without_its_result_is_told_that_there_is_none():
    messages = told(ROUND, NEXT)
    answered, asked = messages[2]["content"]
    assert (answered["tool_use_id"], answered["is_error"], asked) == ("a", True, s.text("And now?"))


def test_a_call_that_still_runs_is_left_open():
    messages = history(s.log_of(ROUND), to_be_answered={"a"})
    assert messages == [user("Look."), claude("I look.", s.call("a"))]


def test_a_note_that_came_before_a_result_is_told_after_it():
    note = k.ToolSettled(tool_use_id="z", tool_name="pay", happened=True, decided_by="bob")
    messages = told([*ROUND, note, s.result("a"), s.said("Done.")], NEXT)
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text"]
    assert tell(s.log_of([*ROUND, note, s.result("a")])).repaired == []


def test_what_the_model_said_goes_back_as_it_came():
    """Citations, encrypted results, and fields and blocks that we have never heard of."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    page = {"type": "web_search_result", "encrypted_content": "EqgC", "title": "T", "url": "u"}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]}
    cited = s.text("So.") | {"citations": [{"type": "char_location", "cited_text": "S"}]}
    newer = {"type": "brand_new", "data": 1}
    blocks = [thought() | {"extra": 1}, search, found, newer, cited]
    messages = history(s.log_of([s.asked("One."), s.said(*blocks)], NEXT))
    assert messages[1]["content"] == blocks


# a changed beginning


def after(prefix, *blocks, stop="end_turn"):
    return replace(s.said(*blocks, stop=stop), prefix=prefix)


def test_thoughts_are_told_only_after_the_prefix_that_they_came_after():
    talk = [
        [s.asked("One."), after("a", thought(), "A.")],
        [s.asked("Two."), after("b", thought(), "B.")],
    ]
    assert told(*talk, NEXT, prefix="b")[1:4:2] == [claude("A."), claude(thought(), "B.")]
    assert told(*talk, NEXT, prefix="a")[1:4:2] == [claude(thought(), "A."), claude("B.")]
    assert told(*talk, NEXT)[1:4:2] == [claude(thought(), "A."), claude(thought(), "B.")]


def test_the_thoughts_of_the_turn_that_runs_are_always_told():
    asks = after("a", thought(), s.call("a"), stop="tool_use")
    turn = [s.asked("Look."), asks, s.used("a"), s.result("a")]
    assert told(turn, prefix="b", thoughts=False)[1] == claude(thought(), s.call("a"))


# what was repaired


def newly_repaired(log, repaired):
    return Window("assistant", 0, log).newly_repaired(repaired)


def test_a_repair_is_recorded_once_and_again_when_something_else_is_repaired():
    blank = [s.asked("One."), s.said(" ", "Two.")]
    log = s.log_of(blank, NEXT)
    record = newly_repaired(log, tell(log).repaired)
    assert record.repairs == [{"rule": "text-is-not-blank", "place": "messages.1.content.0"}]
    log = s.log_of(blank, [*NEXT, record, s.said("Three.")], NEXT)
    assert newly_repaired(log, tell(log).repaired) is None
    log = s.log_of(blank, [*NEXT, record, s.said("", "Three.")], NEXT)
    assert len(newly_repaired(log, tell(log).repaired).repairs) == 2


def test_nothing_is_recorded_where_nothing_was_repaired():
    log = s.log_of([s.asked("One."), s.said("Two.")], NEXT)
    assert tell(log).repaired == []
    assert newly_repaired(log, []) is None


# whatever the log holds

words = st.text(max_size=8)
answers = st.lists(st.one_of(words.map(s.text), words.map(thought)), max_size=3)
reasons = st.sampled_from(["end_turn", "max_tokens", "refusal", "interrupted", "cancelled"])


@st.composite
def turns(draw, n):
    turn = [s.asked(draw(words.filter(str.strip)))]
    for step in range(draw(st.integers(0, 3))):
        ids = [f"{n}-{step}-{each}" for each in range(draw(st.integers(1, 3)))]
        turn.append(s.said(*draw(answers), *map(s.call, ids), stop="tool_use"))
        turn += [s.used(id) for id in ids]
        turn += [draw(st.sampled_from([s.result, s.failed]))(id, draw(words)) for id in ids]
    cut = draw(st.lists(st.just(s.call(f"{n}-cut")), max_size=1))
    ending = [s.said(*draw(answers), *cut, stop=draw(reasons)), s.broke()]
    return turn + draw(st.sampled_from([ending[:1], ending[1:], ending]))


logs = st.integers(0, 4).flatmap(lambda size: st.tuples(*map(turns, range(size))))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(logs, st.booleans())
def test_every_log_amounts_to_a_history_that_the_api_takes(turns, thoughts):
    told(*turns, NEXT, thoughts=thoughts)
