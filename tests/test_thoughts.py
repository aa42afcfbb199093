"""A kept thought says how long it took, and how many tokens, where the API reports that."""

import pytest
from played_model import played
from raw_events import block, start, stop
from recorded import STREAMS, each, is_ours

from turnlog import Agent, tool
from turnlog.diagnosis.captures import RecordedCall
from turnlog.events.rows.record import stamped
from turnlog.projections.transcript import transcript
from turnlog.simulator import Reply, Thinking, ToolCall, Usage
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing.apps import scripted_app
from turnlog.transports import wire


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path)


async def shown(*replies, store=None):
    """What was shown live and what is kept, by type."""
    store = store or MemoryStore()
    async with scripted_app(*replies, agents=[Agent("a", tools=[look])], store=store) as (app, _):
        result = await app.run_turn("Go", enable_thinking=True)
        evidence = await store.evidence(result.session_id)
    kept = [stamped(row) for row in evidence.log]
    return [
        [wire.decode(wire.encode(entry)) for entry in events if not entry.envelope.internal]
        for events in (result.events, kept)
    ]


def of(kind, events):
    return [event for event in events if event["type"] == kind]


async def test_a_kept_thought_took_as_long_as_was_shown_live(store):
    slow = Reply(Thinking("Let me see."), "Yes.", chunk=2, delay=0.002)
    live, log = await shown(slow, store=store)
    (whole,), (kept,) = of("thinking_complete", live), of("thinking", log)
    assert kept["duration"] == whole["duration"] >= 0
    assert (kept["messageId"], kept["blockIndex"]) == (whole["messageId"], whole["blockIndex"])
    (item,) = [item for item in transcript(log)[0].items if item["kind"] == "thinking"]
    assert item["duration"] == whole["duration"]


async def test_thinking_tokens_are_on_the_thought_the_message_and_the_turn(store):
    first = Reply(Thinking("Hm."), ToolCall("look"), usage=Usage(thinking_tokens=7))
    second = Reply(Thinking("So."), "Yes.", usage=Usage(thinking_tokens=5))
    live, log = await shown(first, second, store=store)
    assert [thought["thinkingTokens"] for thought in of("thinking", log)] == [7, 5]
    messages = of("message", log)
    assert [message["tokenUsage"]["thinkingTokens"] for message in messages] == [7, 5]
    assert live[-1]["tokenUsage"]["thinkingTokens"] == 12


async def test_the_tokens_of_several_thoughts_are_told_for_all_of_them():
    both = Reply(Thinking("Hm."), "Well.", Thinking("So."), "Yes.", usage=Usage(thinking_tokens=9))
    live, log = await shown(both)
    assert ["thinkingTokens" in thought for thought in of("thinking", log)] == [False, False]
    assert live[-1]["tokenUsage"]["thinkingTokens"] == 9


async def test_what_nobody_has_counted_is_unknown_and_not_nothing():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    live, log = await played([start(), *block(thought), *stop()])
    assert "thinkingTokens" not in of("thinking", log)[0]
    assert live[-1]["tokenUsage"]["thinkingTokens"] is None


# recorded streams


def counted(path):
    """The count of thinking tokens that the stream reports, if it does."""
    reports = [raw.get("usage") or {} for raw in RecordedCall(path.read_bytes()).events]
    details = [report.get("output_tokens_details") or {} for report in reports]
    return ([d["thinking_tokens"] for d in details if "thinking_tokens" in d] or [None])[-1]


COUNTED = [p for p in STREAMS if RecordedCall(p.read_bytes()).whole and counted(p) is not None]


@pytest.mark.parametrize("path", each(COUNTED))
async def test_what_a_recorded_stream_reports_is_kept(path):
    live, log = await played(RecordedCall(path.read_bytes()).events)
    (message,), thoughts = of("message", log), of("thinking", log)
    assert message["tokenUsage"]["thinkingTokens"] == counted(path)
    if len(thoughts) == 1:
        assert thoughts[0]["thinkingTokens"] == counted(path)
    assert all(thought["duration"] is not None for thought in thoughts if not thought["redacted"])


def test_there_are_recorded_streams_that_count():
    assert any(map(is_ours, COUNTED))
