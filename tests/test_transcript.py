"""The screen: live events and reloaded ones fold to the same, whatever was cut off."""

import pytest
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import TokenUsage
from turnlog.projections.transcript import transcript
from turnlog.testing import samples as s
from turnlog.transports import wire


def shown(*events, turn_id="t"):
    placed = s.placed(*events)
    ats = [
        Stamped(session_id="s", turn_id=turn_id, placed=p, seq=n if p.kept else None, position=n)
        for n, p in enumerate(placed)
    ]
    return [wire.decode(wire.encode(at)) for at in ats]


def screen(*events):
    (turn,) = transcript(shown(*events))
    return turn


def chunk(content, block=0):
    return k.MessageChunk(content=content, block_index=block)


def thought(content):
    return k.Thinking(message_id="m", content=content, signature="x")


COMPLETE = k.Complete(
    reason="success", stop_reason="end_turn", token_usage=TokenUsage(), model="c", tools_used=[]
)
THINKS = [
    k.ThinkingStart(block_index=0),
    k.ThinkingChunk(content="H", block_index=0),
    k.ThinkingChunk(content="m.", block_index=0),
    k.ThinkingComplete(content="Hm.", block_index=0, duration=1),
]
LIVE = {
    "a plain answer": [s.asked(), chunk("Hel"), chunk("lo."), s.said("Hello."), COMPLETE],
    "a thought": [s.asked(), *THINKS, chunk("Hi.", 1), thought("Hm."), s.said("Hi."), COMPLETE],
    "a tool": [s.asked(), chunk("Wait."), s.said("Wait.", s.call("a"), stop="tool_use"),
               s.used("a"), s.result("a"), chunk("Done."), s.said("Done."), COMPLETE],
    "an approval": [s.asked(), s.said(s.call("a"), stop="tool_use"), s.used("a"),
                    s.approval("ok?", "a"), s.decision("ok?", approved=False),
                    s.failed("a", "User rejected"), s.said("Fine."), COMPLETE],
    "an error": [s.asked(), chunk("Hel"), s.said("Hel", stop="interrupted"), s.broke()],
    "an error before anything": [s.asked(), s.broke()],
    "two texts in one answer": [s.asked(), chunk("One. "), chunk("Two.", 1),
                                s.said("One. ", "Two."), COMPLETE],
}  # fmt: skip


def test_a_refusal_says_why():
    why = {"type": "refusal", "category": "bio", "explanation": "No."}
    refused = replace(s.said(stop="refusal"), details={"stop_details": why, "container": None})
    assert screen(s.asked(), refused, COMPLETE).items[0]["stopDetails"] == why
    assert "stopDetails" not in screen(s.asked(), s.said("Hi."), COMPLETE).items[0]


@pytest.mark.parametrize("events", LIVE.values(), ids=LIVE)
def test_a_reload_shows_what_was_shown_live(events):
    live = shown(*events)
    kept = [at for at, event in zip(live, events, strict=True) if event.kept]
    assert transcript(live) == transcript(kept)


@pytest.mark.parametrize("events", LIVE.values(), ids=LIVE)
def test_a_turn_that_is_over_has_no_drafts(events):
    turn = screen(*events)
    assert turn.drafts == []
    assert turn.state == ("failed" if isinstance(events[-1], k.Error) else "done")


def test_what_is_being_written_is_a_draft():
    turn = screen(s.asked("Who?"), *THINKS[:3], chunk("I ", 1), chunk("am.", 1))
    assert (turn.question, turn.state, turn.items) == ("Who?", "running", [])
    drafts = [(draft["kind"], draft["content"]) for draft in turn.drafts]
    assert drafts == [("thinking", "Hm."), ("message", "I am.")]


def test_a_kept_thought_takes_the_place_of_its_draft():
    turn = screen(s.asked(), *THINKS, chunk("Hi.", 1), thought("Hm."))
    assert [item["content"] for item in turn.items] == ["Hm."]
    assert [draft["kind"] for draft in turn.drafts] == ["message"]


def test_a_result_joins_its_call():
    asks = s.said(s.call("a"), s.call("b"), stop="tool_use")
    turn = screen(s.asked(), asks, s.used("a"), s.used("b"), s.result("b", 2), s.failed("a", "no"))
    (_, one, two) = turn.items
    assert (one["success"], one["error"], two["result"]) == (False, "no", 2)
    assert turn.state == "running"


def test_an_open_approval_makes_the_turn_wait():
    turn = screen(*LIVE["an approval"][:4])
    assert turn.state == "waiting"
    assert turn.items[-1]["kind"] == "approval"


def test_the_error_is_told_and_what_was_said_stays():
    turn = screen(*LIVE["an error"])
    assert turn.error == "The model is overloaded."
    assert [item["content"] for item in turn.items] == ["Hel"]


def test_tokens_are_those_of_all_calls():
    assert screen(*LIVE["a tool"]).tokens == 30


def test_turns_are_shown_in_the_order_they_began():
    events = shown(*LIVE["an error"], turn_id="one") + shown(*LIVE["a tool"], turn_id="two")
    assert [turn.turn_id for turn in transcript(events)] == ["one", "two"]


def test_what_the_screen_does_not_know_is_not_shown():
    future = shown(COMPLETE)[0] | {"type": "telepathy"}
    assert transcript([*shown(s.asked()), future])[0].items == []
