"""The screen: live events and reloaded ones fold to the same, whatever was cut off."""

import pytest
from msgspec.structs import replace

from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Stamped
from turnlog.events.content import TokenUsage
from turnlog.projections.transcript import transcript
from turnlog.testing import samples as s
from turnlog.transports import wire


def shown(*events, turn_id="t"):
    """The events on the wire; one that comes with an agent is that agent's."""
    authored = [event if isinstance(event, tuple) else (event, s.AGENT) for event in events]
    placed = [
        replace(at, agent=agent)
        for at, (_, agent) in zip(s.placed(*(e for e, _ in authored)), authored, strict=True)
    ]
    ats = [
        Stamped(session_id="s", turn_id=turn_id, envelope=p, seq=n if p.kept else None, position=n)
        for n, p in enumerate(placed)
    ]
    return [wire.decode(wire.encode(at)) for at in ats]


def screen(*events):
    (turn,) = transcript(shown(*events))
    return turn


def chunk(content, block=0, message="m", **more):
    return k.MessageChunk(message_id=message, content=content, block_index=block, **more)


def thought(content, message="m"):
    return k.Thinking(message_id=message, content=content, duration=1, signature="x")


def said(*blocks, id="m", **more):
    return s.said(*blocks, id=id, **more)


def cited(text, *titles):
    return s.text(text) | {"citations": [{"title": title} for title in titles]}


def citing(*titles, block=0):
    return {"citations": [{"blockIndex": block, "title": title} for title in titles]}


def by(agent_id, *events):
    return [(event, AgentRef(id=agent_id, name=agent_id.title())) for event in events]


COMPLETE = k.Complete(
    reason="success", stop_reason="end_turn", token_usage=TokenUsage(), model="c", tools_used=[]
)
FIRST = {"message_id": "m", "block_index": 0}
THINKS = [
    k.ThinkingStart(**FIRST),
    k.ThinkingChunk(content="H", **FIRST),
    k.ThinkingChunk(content="m.", **FIRST),
    k.ThinkingComplete(content="Hm.", duration=1, **FIRST),
]
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
TWO_AT_ONCE = [
    s.asked(),
    *by("one", chunk("Tea", message="m")), *by("two", chunk("Cof", message="n")),
    *by("one", chunk(" or", message="m")), *by("two", chunk("fee.", message="n")),
]  # fmt: skip
LIVE = {
    "a plain answer": [s.asked(), chunk("Hel"), chunk("lo."), said("Hello."), COMPLETE],
    "a thought": [s.asked(), *THINKS, chunk("Hi.", 1), thought("Hm."), said(THOUGHT, "Hi."),
                  COMPLETE],
    "a tool": [s.asked(), chunk("Wait."), said("Wait.", s.call("a"), stop="tool_use"),
               s.used("a"), s.result("a"), chunk("Done.", message="n"), said("Done.", id="n"),
               COMPLETE],
    "an approval": [s.asked(), s.said(s.call("a"), stop="tool_use"), s.used("a"),
                    s.approval("ok?", "a"), s.decision("ok?", approved=False),
                    s.failed("a", "User rejected"), s.said("Fine."), COMPLETE],
    "an error": [s.asked(), chunk("Hel"), said("Hel", stop="interrupted"), s.broke()],
    "an error before anything": [s.asked(), s.broke()],
    "two texts in one answer": [s.asked(), chunk("One. "), chunk("Two.", 1),
                                said("One. ", "Two."), COMPLETE],
    "sources": [s.asked(), chunk("One. "), chunk("Two", 1, **citing("a", "b", block=1)),
                chunk(".", 1), chunk("", 2, **citing("c", block=2)),
                said("One. ", cited("Two.", "a", "b"), cited("", "c")), COMPLETE],
    "two at once": [*TWO_AT_ONCE, *by("two", said("Coffee.", id="n")),
                    *by("one", said("Tea or", id="m", stop="cancelled")), COMPLETE],
}  # fmt: skip


def test_a_refusal_says_why():
    why = {"type": "refusal", "category": "bio", "explanation": "No."}
    refused = replace(s.said(stop="refusal"), details={"stop_details": why, "container": None})
    assert screen(s.asked(), refused, COMPLETE).items[0]["stopDetails"] == why
    assert "stopDetails" not in screen(s.asked(), s.said("Hi."), COMPLETE).items[0]


@pytest.mark.parametrize("events", LIVE.values(), ids=LIVE)
def test_a_reload_shows_what_was_shown_live(events):
    live = shown(*events)
    kinds = [event[0] if isinstance(event, tuple) else event for event in events]
    kept = [at for at, event in zip(live, kinds, strict=True) if event.kept]
    assert transcript(live) == transcript(kept)


@pytest.mark.parametrize("events", LIVE.values(), ids=LIVE)
def test_a_turn_that_is_over_has_no_drafts(events):
    turn = screen(*events)
    assert turn.drafts == []
    assert turn.state == ("failed" if isinstance(events[-1], k.Error) else "done")


def test_what_is_being_written_is_a_draft():
    turn = screen(s.asked("Who?"), *THINKS[:3], chunk("I ", 1), chunk("am.", 1))
    assert (turn.question, turn.state, turn.items) == ("Who?", "running", [])
    (draft,) = turn.drafts
    parts = [(part["kind"], part["content"]) for part in draft["parts"]]
    assert parts == [("thinking", "Hm."), ("message", "I am.")]


def test_each_agent_that_writes_has_a_draft_of_its_own():
    turn = screen(*TWO_AT_ONCE)
    drafts = {d["agent"]["id"]: [part["content"] for part in d["parts"]] for d in turn.drafts}
    assert drafts == {"one": ["Tea or"], "two": ["Coffee."]}
    turn = screen(*TWO_AT_ONCE, *by("two", said("Coffee.", id="n")))
    assert [d["agent"]["id"] for d in turn.drafts] == ["one"]
    assert [item["agent"]["id"] for item in turn.items] == ["two"]


def test_a_source_stands_behind_the_words_that_it_is_for():
    live = LIVE["sources"]
    expected = [("One. ", []), ("Two.", ["a", "b"]), ("", ["c"])]
    for parts in (screen(*live[:-2]).drafts[0]["parts"], screen(*live).items[0]["parts"]):
        cited = [(p["content"], [c["title"] for c in p["citations"]]) for p in parts]
        assert cited == expected


def test_a_kept_thought_takes_the_place_of_its_draft():
    turn = screen(s.asked(), *THINKS, chunk("Hi.", 1), thought("Hm."))
    assert [item["content"] for item in turn.items] == ["Hm."]
    assert turn.items[0]["duration"] == 1
    assert [part["kind"] for part in turn.drafts[0]["parts"]] == ["message"]


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


def test_a_turn_waits_for_a_person_while_another_agent_has_answered():
    call = [said(s.call("toolu_1"), stop="tool_use"), s.used("toolu_1")]
    turn = screen(s.asked(), *call, s.approval("a", "toolu_1"), *by("other", said("Done.", id="n")))
    assert turn.state == "waiting"
