"""The window that the model is told: its size in tokens, when it moves, what is told before it."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.content import usage_of
from turnlog.projections.history.fold import history
from turnlog.projections.history.window.digest import MOST_OF_ALL, digest
from turnlog.projections.history.window.fold import Window
from turnlog.projections.history.window.opening import MOST_SUMMARY, Opening, after, opening_of
from turnlog.projections.history.window.size import (
    KEPT_MESSAGES,
    MOST_MESSAGES,
    NO_FILES,
    Room,
    Size,
    measured,
    moved_anchor,
    must_move,
    room_for,
)
from turnlog.testing import samples as s

NEXT = [s.asked("And now?")]
ROOM = Room(most=1_000, kept=300, last=5_000)
ENDLESS = Room(most=10**9, kept=10**9 // 3, last=10**9)


def too_long():
    return replace(s.broke(), code="context_exceeded")


def reporting(message, tokens, **more):
    reported = {"input_tokens": tokens, "output_tokens": 0, **more}
    return replace(message, reported=reported, token_usage=usage_of(reported))


def talk(turns, tokens=None):
    """Each turn has some 150 tokens by our estimate; and these, if the model says so."""
    said = [s.said("So it was. " * 50) for _ in range(turns)]
    if tokens is None:
        said = [replace(each, reported={}) for each in said]
    else:
        said = [reporting(each, tokens * n) for n, each in enumerate(said, 1)]
    return [[s.asked(f"Tell me {n}."), each] for n, each in enumerate(said)]


def size_of(log, speaker, files=NO_FILES):
    return measured(log, speaker).size(files)


def was_too_long(log):
    return measured(log, "assistant").was_too_long


def is_too_soon(log, size, room):
    return measured(log, "assistant").is_too_soon(size, room)


def open_container(log, now):
    return Window("assistant", 0, log).open_container(now)


def moved(log, room=ROOM, **more):
    return moved_anchor(log, size_of(log, "assistant"), room, **more)


# how large it is


def test_what_the_model_reported_counts_and_only_what_is_new_is_estimated():
    cached = {"cache_read_input_tokens": 900, "cache_creation_input_tokens": 40}
    turn = [s.asked("Tell me."), reporting(s.said("So."), 60, **cached)]
    assert size_of(s.log_of(turn), "assistant") == Size(1_000, 2)
    new = s.log_of(turn, [s.asked("x" * 400)])
    assert size_of(new, "assistant") == Size(1_105, 3)


def test_the_report_of_another_agent_or_of_another_window_does_not_count():
    log = s.log_of([s.asked("Tell me."), reporting(s.said("So."), 7_000)])
    assert size_of(log, "erp").tokens < 20
    moving = [s.asked("Tell me."), reporting(s.said("So."), 7_000), k.HistoryAnchored(anchor=0)]
    assert size_of(s.log_of(moving), "assistant").tokens < 20


@pytest.mark.parametrize(
    "reported",
    [
        {"input_tokens": 9_000, "server_tool_use": {"web_search_requests": 2}},
        {"iterations": [{"type": "compaction", "input_tokens": 9_000}, {"input_tokens": 9_000}]},
        {"input_tokens": 0},
        {"input_tokens": "many"},
        {},
    ],
)
def test_a_report_that_counts_something_else_is_not_taken_for_the_prompt(reported):
    message = replace(s.said("So."), reported=reported)
    assert size_of(s.log_of([s.asked("Tell me."), message]), "assistant").tokens < 20


def test_files_and_results_count_as_they_are_told():
    question = replace(s.asked("Look."), files=[{"id": "f", "name": "a.png"}])
    called = replace(s.said("I look.", s.call("a"), stop="tool_use"), reported={})
    log = s.log_of([question, called, s.used("a"), s.result("a", "x" * 4_000_000)])
    plain = size_of(log, "assistant").tokens
    assert 25_000 < plain < 26_000  # of a result, so much is told and no more
    assert size_of(log, "assistant", {question.message_id: 500}).tokens == plain + 500


def test_there_is_room_for_what_is_wanted_as_far_as_the_model_goes():
    assert room_for("claude-sonnet-5-5", 150_000, 8_192) == Room(150_000, 50_000, 891_808)
    assert room_for("claude-sonnet-4-5", 900_000, 8_192).most == 180_000 - 8_192
    assert room_for("some-model", 150_000, 8_192).most == 150_000


# when it moves


def test_a_small_window_does_not_move():
    assert moved(s.log_of(*talk(5, 100), NEXT)) is None
    assert moved(s.log_of(*talk(MOST_MESSAGES // 2)), ENDLESS) is None


def test_too_many_tokens_move_it_to_a_turn_so_that_a_third_stays():
    log = s.log_of(*talk(10, 150), NEXT)
    anchor = moved(log)
    assert isinstance(log[anchor].event, k.UserMessageSent)
    stays = [entry for entry in log if entry.position >= anchor]
    assert len(stays) in (3, 5)  # 300 of 1,500 tokens, and they had 21


def test_too_many_messages_move_it_whatever_they_weigh():
    log = s.log_of(*talk(MOST_MESSAGES // 2), NEXT)
    anchor = moved(log, ENDLESS)
    assert len([entry for entry in log if entry.position >= anchor]) == KEPT_MESSAGES - 1


def test_a_turn_is_never_cut():
    loop = [s.said(f"Step {n}. " * 99, stop="pause_turn") for n in range(40)]
    done = reporting(s.said("Done."), 9_000)
    log = s.log_of(*talk(3), [s.asked("Loop."), *loop, done], NEXT)
    assert log[6].event.content == "Loop."
    assert moved(log) == log[-1].position  # not inside of the loop


def test_a_window_that_is_one_turn_does_not_move():
    answers = [s.said("x" * 4_000, stop="pause_turn") for _ in range(5)]
    assert moved(s.log_of([s.asked("Go on."), *answers])) is None
    assert moved(s.log_of(NEXT), too_long=True) is None


def test_what_the_model_could_not_take_in_moves_it_by_half_at_least():
    assert moved(s.log_of(*talk(1), NEXT), ENDLESS, too_long=True) == 2
    log = s.log_of(*talk(10), [s.asked(), too_long()], NEXT)
    assert was_too_long(log)
    anchor = moved(log, ENDLESS, too_long=True)
    assert 10 <= anchor <= log[-1].position


def test_an_answer_that_filled_the_window_was_too_long_and_another_failure_was_not():
    full = s.said("And", stop="model_context_window_exceeded")
    assert was_too_long(s.log_of(*talk(5), [s.asked(), full], NEXT))
    assert not was_too_long(s.log_of(*talk(5), [s.asked(), s.broke()], NEXT))
    turn = [*NEXT, k.HistoryAnchored(anchor=10), s.said("Ok.")]
    assert not was_too_long(s.log_of(*talk(5), [s.asked(), too_long()], turn, NEXT))


def test_a_summary_that_failed_is_tried_again_when_the_window_has_grown():
    failed = k.SummaryFailed(code="overloaded", error="", lost=False, tokens=1_100, messages=10)
    log = s.log_of(*talk(5), [*NEXT, failed])
    assert is_too_soon(log, Size(1_199, 29), ROOM)
    assert not is_too_soon(log, Size(1_200, 12), ROOM)
    assert not is_too_soon(log, Size(1_110, 30), ROOM)
    assert not is_too_soon(s.log_of(*talk(5), NEXT), Size(1_110, 30), ROOM)


def test_a_window_does_not_move_again_before_it_has_grown():
    """Tools and a prompt that fill the room do not get smaller by it."""
    moving = [*NEXT, k.HistoryAnchored(anchor=0, summary="So."), s.said("Ok.")]
    full = Size(1_500, 12)
    assert is_too_soon(s.log_of(moving, *talk(1), NEXT), full, ROOM)
    assert not is_too_soon(s.log_of(moving, *talk(3), NEXT), full, ROOM)
    short = [[s.asked("Yes?"), s.said("Yes.")] for _ in range(10)]
    assert not is_too_soon(s.log_of(moving, *short), full, ROOM)


def test_it_must_move_where_nothing_more_fits():
    assert must_move(Size(5_001, 1), ROOM)
    assert must_move(Size(1, 2 * MOST_MESSAGES + 1), ROOM)
    assert not must_move(Size(5_000, 2 * MOST_MESSAGES), ROOM)


# what is told before it

FILE = {"id": "f1", "name": "plan.pdf", "mediaType": "application/pdf", "size": 5, "sha256": "0"}


def test_a_window_begins_with_the_summary_and_the_names_of_files():
    moving = [*NEXT, k.HistoryAnchored(anchor=0, summary="Ducks quack.", files=[FILE])]
    messages = history(s.log_of(moving))
    assert [message["role"] for message in messages] == ["user"]
    opening, question = messages[0]["content"]
    assert "in short:]\nDucks quack.\n[Files" in opening["text"]
    assert "'plan.pdf' (id f1)" in opening["text"] and "read_file" in opening["text"]
    assert question["text"] == "And now?"


def test_a_window_that_begins_at_the_start_has_nothing_before_it():
    assert len(history(s.log_of(NEXT))[0]["content"]) == 1
    assert opening_of(s.log_of(NEXT)) == Opening()


def test_the_newest_summary_counts():
    turn = [*NEXT, k.HistoryAnchored(anchor=0, summary="Old."), s.said("Ok.")]
    later = [*NEXT, k.HistoryAnchored(anchor=0, summary="New.")]
    assert opening_of(s.log_of(turn, later)).summary == "New."


def test_files_that_leave_stay_named_and_what_is_lost_is_said():
    leaving = s.log_of([replace(s.asked(), files=[FILE])])
    first = after(Opening(), leaving, "They sent a plan.")
    assert [file["name"] for file in first.files] == ["plan.pdf"]
    lost = after(first, s.log_of(NEXT), "")
    assert lost.files == first.files
    assert lost.summary.startswith("They sent a plan.\n[What came after that")
    assert "missing" in after(Opening(), leaving, "").summary
    assert len(after(Opening(), leaving, "x" * 10**6).summary) < MOST_SUMMARY + 10


def test_a_digest_names_who_said_and_did_what_and_leaves_out_what_was_refused():
    rejected = [s.asked("Something bad."), s.said("No.", stop="refusal")]
    used = [s.asked("Look."), s.said("I look.", s.call("a"), stop="tool_use"), s.used("a")]
    log = s.log_of(rejected, [*used, s.result("a", "a duck"), s.said("A duck.")])
    text = digest(Opening("They like birds."), log)
    assert text.split("\n\n") == [
        "[This conversation began earlier. What came before, in short:]\nThey like birds.",
        "[The user said:] Look.",
        "[Assistant said:] I look.",
        "[Assistant called look with {}]",
        "[look returned a duck]",
        "[Assistant said:] A duck.",
    ]


def test_a_digest_is_bounded_and_keeps_both_ends():
    long = [[s.asked(f"{n} " + "x" * 5_000)] for n in range(200)]
    text = digest(Opening("Begin."), s.log_of(*long))
    assert len(text) < MOST_OF_ALL + 100
    assert "Begin." in text and "[The user said:] 199 " in text and "left out" in text


# containers

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def worked(id, expires):
    return replace(s.said("Ran."), details={"container": {"id": id, "expires_at": expires}})


def test_the_newest_container_is_gone_back_to_until_it_expires():
    old, new = worked("old", "2026-11-16T13:00:00Z"), worked("new", "2026-11-16T12:30:00.5Z")
    log = s.log_of([s.asked(), old], [s.asked(), new], NEXT)
    assert open_container(log, NOON) == "new"
    assert open_container(log, NOON.replace(hour=14)) is None


@pytest.mark.parametrize("container", [None, "word", {}, {"id": "c"}, {"id": "c", "expires_at": 5}])
def test_a_container_that_is_no_proper_one_is_not_gone_back_to(container):
    message = replace(s.said("Ran."), details={"container": container})
    assert open_container(s.log_of([s.asked(), message], NEXT), NOON) is None
