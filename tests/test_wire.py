"""The names on the wire, frozen. A change in these tables is a decision, not an accident."""

from decimal import Decimal

import msgspec
import pytest

from turnlog.events import kinds as k
from turnlog.events.base import Stamped
from turnlog.events.content import TokenUsage
from turnlog.ports import LiveEvent
from turnlog.testing import samples as s
from turnlog.transports import sse, wire

ENVELOPE = {"type", "eventId", "sessionId", "turnId", "timestamp", "eventIndex",
            "persistenceState", "agent", "cursor"}  # fmt: skip
USAGE = TokenUsage(input_tokens=1, output_tokens=2, thinking_tokens=1, total_tokens=3)
USAGE_NAMES = {"inputTokens", "outputTokens", "cacheWriteTokens", "cacheReadTokens",
               "thinkingTokens", "totalTokens"}  # fmt: skip

# fmt: off
FROZEN = {  # type: (persistenceState, its own fields)
    "session_start":      ("transient", {"session", "settings"}),
    "user_message_sent":  ("persisted", {"messageId", "content", "files"}),
    "thinking_start":     ("transient", {"messageId", "blockIndex"}),
    "thinking_chunk":     ("transient", {"messageId", "content", "blockIndex"}),
    "thinking_complete":  ("transient", {"messageId", "content", "blockIndex", "duration"}),
    "thinking":           ("persisted", {"messageId", "blockIndex", "content", "duration",
                                         "thinkingTokens", "redacted"}),
    "message_chunk":      ("transient", {"messageId", "content", "blockIndex", "citations"}),
    "citations_found":    ("transient", {"messageId", "count", "citations"}),
    "message":            ("persisted", {"messageId", "role", "content", "blocks", "citations",
                                         "stopReason", "model", "tokenUsage", "costUsd"}),
    "tool_use":           ("persisted", {"toolUseId", "toolName", "args"}),
    "approval_requested": ("pending",   {"approvalId", "toolUseId", "toolName", "args",
                                         "description", "expiresAt", "mayDecide", "costSoFarUsd"}),
    "approval_resolved":  ("transient", {"approvalId", "approved", "decidedBy", "reason", "args"}),
    "tool_result":        ("persisted", {"toolUseId", "toolName", "result", "success", "error",
                                         "duration", "inDoubt"}),
    "agent_changed":      ("transient", {"from", "to"}),
    "complete":           ("transient", {"reason", "stopReason", "tokenUsage", "costUsd", "model",
                                         "toolsUsed"}),
    "error":              ("persisted", {"error", "code", "retryable"}),
    "resync_required":    ("transient", {"why"}),
}
INTERNAL = {  # in the log, never on a user's wire
    "budget_exceeded", "budget_warned", "claim_unfounded", "decision_refused", "feedback_given",
    "history_anchored", "history_summarized", "summary_failed",
    "history_repaired", "tool_settled", "engine_paused", "turn_resumed", "web_searched",
}
# fmt: on

PIECE = {"message_id": "m", "block_index": 0}
SAMPLES = [
    k.SessionStart(session={}, settings={}),
    s.asked(),
    k.ThinkingStart(**PIECE),
    k.ThinkingChunk(content="Hm", **PIECE),
    k.ThinkingComplete(content="Hm", duration=1, **PIECE),
    k.Thinking(content="Hm", signature="secret", duration=1, thinking_tokens=1, **PIECE),
    k.MessageChunk(content="Hi", citations=[], **PIECE),
    k.CitationsFound(message_id="m", count=0, citations=[]),
    s.said("Hi."),
    s.used("a"),
    s.approval("ok?", "a"),
    msgspec.structs.replace(s.decision("ok?"), args={}),
    msgspec.structs.replace(s.failed("a"), in_doubt=True),
    k.AgentChanged(from_="one", to="other"),
    k.Complete(reason="success", stop_reason="", token_usage=USAGE, model="c", tools_used=[]),
    s.broke(),
    k.ResyncRequired(why="The cursor is too old."),
]  # fmt: skip


def shown(event, seq=7, encode=wire.encode):
    (placed,) = s.placed(event, first_index=4)
    at = Stamped(session_id="s", turn_id="t", envelope=placed, seq=seq, position=7)
    return wire.decode(encode(at))


def test_the_vocabulary_is_what_was_agreed():
    assert set(k.KINDS) == FROZEN.keys() | INTERNAL
    assert {kind for kind in k.KINDS if k.KINDS[kind].internal} == INTERNAL
    assert [event.type for event in SAMPLES] == list(FROZEN)


def test_a_refused_message_says_why_and_nothing_else_that_is_for_the_log():
    why = {"type": "refusal", "category": None, "explanation": None}
    refused = msgspec.structs.replace(s.said("No."), details={"stop_details": why, "id": "x"})
    assert shown(refused).keys() - shown(s.said("No.")).keys() == {"stopDetails"}
    assert shown(refused)["stopDetails"] == why


def test_only_a_write_in_doubt_says_that_it_is():
    assert shown(s.unclear("a"))["inDoubt"] is True
    assert "inDoubt" not in shown(s.result("a"))


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.type)
def test_an_event_has_exactly_its_fields(event):
    state, fields = FROZEN[event.type]
    number = {"sequenceNumber"} if state == "persisted" else set()
    assert shown(event).keys() == ENVELOPE | fields | number


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: event.type)
def test_the_state_on_the_wire_is_what_was_agreed(event):
    assert shown(event)["persistenceState"] == FROZEN[event.type][0]


def test_the_envelope_says_who_and_where():
    event = shown(k.MessageChunk(content="Hi", **PIECE), seq=None)
    del event["eventId"]
    assert event == {
        "type": "message_chunk", "messageId": "m", "content": "Hi", "blockIndex": 0,
        "sessionId": "s", "turnId": "t", "timestamp": "2026-11-15T12:00:00.000Z",
        "eventIndex": 4, "persistenceState": "transient",
        "agent": {"id": "assistant", "name": "Assistant"}, "cursor": "7.4",
    }  # fmt: skip


def test_a_kept_event_has_its_number():
    assert shown(s.said("Hi."), seq=7)["sequenceNumber"] == 7


def test_an_event_that_could_not_be_stored_does_not_say_that_it_was():
    event = shown(s.broke(), seq=None)
    assert event["persistenceState"] == "transient"
    assert "sequenceNumber" not in event


def test_approvals_have_no_number_on_the_wire():
    assert "sequenceNumber" not in shown(s.approval("ok?", "a"))
    assert "sequenceNumber" not in shown(s.decision("ok?"))


@pytest.mark.parametrize(
    "event",
    [s.approval("ok?", "a"), s.decision("ok?"), k.HistoryAnchored(anchor=3), s.said("Hi.")],
    ids=lambda event: event.type,
)
def test_an_auditor_reads_of_every_entry_that_it_is_kept_and_its_number(event):
    entry = shown(event, encode=wire.encode_for_audit)
    assert (entry["persistenceState"], entry["sequenceNumber"]) == ("persisted", 7)


def test_what_is_for_the_log_stays_in_the_log():
    message = msgspec.structs.replace(s.said("Hi."), details={"container": "private"})
    message = msgspec.structs.replace(message, block_indexes=[3], prefix="f00")
    for_the_log = {"blockIndexes", "reported", "details", "costs", "prefix"}
    assert not for_the_log & shown(message).keys()
    assert shown(message)["blocks"] == [{"blockIndex": 3, "start": 0, "end": 3}]
    assert "signature" not in shown(SAMPLES[5])


def test_optional_fields_are_absent_not_null():
    assert "thinkingTokens" not in shown(k.Thinking(content="", **PIECE))
    assert "citations" not in shown(k.MessageChunk(content="Hi", **PIECE))
    assert "error" not in shown(s.result("a"))


def test_files_are_shown_with_what_is_known_of_them():
    file = {"id": "f", "name": "a.pdf", "mediaType": "application/pdf", "size": 1, "sha256": "00"}
    asked = msgspec.structs.replace(s.asked(), files=[file])
    assert shown(asked)["files"] == [file]
    assert shown(s.asked())["files"] == []


def test_tokens_have_the_agreed_names():
    assert shown(s.said("Hi."))["tokenUsage"].keys() == USAGE_NAMES


def test_costs_are_numbers_to_the_last_digit():
    cost = Decimal("0.123456789012")
    message = msgspec.structs.replace(s.said("Hi."), cost_usd=cost, costs=[cost])
    (placed,) = s.placed(message)
    at = Stamped(session_id="s", turn_id="t", envelope=placed, seq=0, position=0)
    assert b'"costUsd":0.123456789012,' in wire.encode(at)
    complete = msgspec.structs.replace(SAMPLES[14], cost_usd=Decimal("0.0000001"))
    assert shown(complete)["costUsd"] == 1e-7


def test_a_message_shows_the_text_and_the_citations_of_its_blocks():
    cited = s.text("world.") | {"citations": [{"type": "char_location", "cited_text": "w"}]}
    event = shown(s.said("Hello, ", s.call("a"), cited))
    assert event["content"] == "Hello, world."
    place = {"blockIndex": 2, "start": 7, "end": 13}
    assert event["blocks"] == [{"blockIndex": 0, "start": 0, "end": 7}, place]
    assert event["citations"] == [{**place, "type": "char_location", "cited_text": "w"}]


def test_an_internal_event_has_no_index_and_is_still_json():
    assert shown(k.HistoryAnchored(anchor=3))["eventIndex"] is None


def test_an_auditor_is_told_why_another_agent_was_chosen_and_nobody_else_is():
    change = k.AgentChanged(from_="supervisor", to="erp", reason="It is about an invoice.")
    (placed,) = s.placed(change)
    at = Stamped(session_id="s", turn_id="t", envelope=placed, seq=3, position=3)
    assert "reason" not in wire.decode(wire.encode(at))
    assert wire.decode(wire.encode_for_audit(at))["reason"] == "It is about an invoice."


def test_a_frame_carries_cursor_type_and_event():
    (placed,) = s.placed(s.asked("two\nlines"))
    at = Stamped(session_id="s", turn_id="t", envelope=placed, seq=0, position=0)
    first, second, third, *rest = sse.frames([LiveEvent(at, wire.encode(at))]).split(b"\n")
    assert (first, second) == (b"id: 0.0", b"event: user_message_sent")
    assert wire.decode(third.removeprefix(b"data: "))["content"] == "two\nlines"
    assert rest == [b"", b""]


def shown_by_copying(event):
    """What a client saw of an event while its values were copied: the same bytes."""
    fields = msgspec.to_builtins(event, builtin_types=(Decimal,))
    for name in event.log_only:
        fields.pop(name, None)
    if isinstance(event, k.Message):
        fields |= {
            "content": event.content,
            "blocks": [span._asdict() for span in event.spans],
            "citations": event.citations,
        }
    if isinstance(event, k.ToolResult) and not event.in_doubt:
        del fields["inDoubt"]
    return fields


CITED = {
    "type": "text",
    "text": "Two.",
    "citations": [{"type": "char_location", "cited_text": "2"}],
}
KEPT = [
    s.asked("Hi."),
    s.said("Hello.", CITED, s.call("a")),
    msgspec.structs.replace(s.said("Hi."), cost_usd=Decimal("0.0000001"), block_indexes=[3]),
    s.used("a"),
    s.result("a"),
    s.unclear("a"),
    s.approval("ok?", "a"),
    s.decision("ok?"),
    k.Thinking(message_id="m", content="Hm.", signature="x", thinking_tokens=3),
    k.AgentChanged(from_="a", to="b", reason="c"),
]


@pytest.mark.parametrize("event", KEPT, ids=lambda event: event.type)
def test_an_event_is_shown_in_the_same_bytes_as_when_it_was_copied_first(event):
    encode = msgspec.json.Encoder(decimal_format="number").encode
    assert encode(event.shown()) == encode(shown_by_copying(event))
