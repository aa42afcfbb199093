"""Blocks of every kind, also of those that nobody knows yet: kept, shown once, sent back."""

import pytest
from msgspec import UNSET
from raw_events import CITED, HELLO, TOOL, block, json_piece, read, start, stop

from turnlog.engines.claude.stream import Call
from turnlog.events import kinds as k


def test_text_and_lists_of_an_unknown_delta_grow_and_the_rest_is_replaced():
    pieces = [
        {"type": "mood_delta", "tone": "fi", "waves": [1], "depth": 1, "note": None},
        {"type": "mood_delta", "tone": "ne", "waves": [2], "depth": 2, "note": None},
    ]
    for kind in ({"type": "mood", "tone": "", "waves": []}, {"type": "text", "text": "Hm"}):
        _, out = read(start(), *block(kind, *pieces), *stop())
        (kept,) = out[-1].blocks
        assert kept == kind | {"tone": "fine", "waves": [1, 2], "depth": 2}


def test_a_known_delta_in_an_unknown_block_is_kept_and_not_shown():
    poem = block({"type": "poem", "text": ""}, *({"type": "text_delta", "text": t} for t in "ab"))
    _, out = read(start(), *poem, *stop())
    assert out[-1].blocks == [{"type": "poem", "text": "ab"}]
    assert not [each for each in out if isinstance(each, k.MessageChunk)]


def test_events_of_an_unknown_type_are_kept_beside_the_message():
    rain = {"type": "weather", "rain": 3}
    _, out = read(rain, start(), *HELLO, rain, *stop())
    assert out[-1].details == {"aside": {"events": [rain, rain]}}
    assert out[-1].content == "Hello."


def test_fields_that_an_event_did_not_have_are_kept():
    cleared = {"applied_edits": [{"cleared_input_tokens": 7}]}
    last, end = stop()
    _, out = read(start(), *HELLO, last | {"context_management": cleared}, end | {"latency": 8})
    assert out[-1].details == {"context_management": cleared, "latency": 8}


def test_fields_that_a_delta_did_not_have_are_kept_but_not_sent_back():
    odd = {"type": "text_delta", "text": "Hi", "logprobs": [0.5]}
    _, out = read(start(), *block({"type": "text", "text": ""}, odd, odd), *stop())
    assert out[-1].blocks == [{"type": "text", "text": "HiHi"}]
    assert out[-1].details == {"aside": {"block 0": {"logprobs": [0.5, 0.5]}}}


def test_a_hint_that_is_on_the_list_of_drops_is_dropped():
    hint = {"type": "thinking_delta", "thinking": "Hm.", "estimated_tokens": 50}
    _, out = read(start(), *block({"type": "thinking", "thinking": ""}, hint), *stop())
    assert out[-1].details == {}


def test_a_compaction_is_kept_whole_with_its_secret():
    whole = {"type": "compaction_delta", "content": "So far.", "encrypted_content": "Epw="}
    empty = {"type": "compaction", "content": None, "encrypted_content": None}
    _, out = read(start(), *block(empty, whole), *stop())
    kept = {"type": "compaction", "content": "So far.", "encrypted_content": "Epw="}
    assert out[-1].blocks == [kept]


def test_the_model_of_an_answer_is_the_one_that_gave_it():
    other = {"type": "fallback", "from": {"model": "claude"}, "to": {"model": "claude-2"}}
    _, out = read(start(), *block(other), *stop())
    assert out[-1].model == "claude-2"


def test_blocks_may_be_written_by_turns_and_need_not_be_closed():
    first, second = HELLO, block(TOOL, json_piece('{"at": 1}'), index=1)
    mixed = [first[0], second[0], second[1], first[1]]
    call, out = read(start(), *mixed, *stop("tool_use"))
    assert call.blocks == [{"type": "text", "text": "Hello."}, TOOL | {"input": {"at": 1}}]
    assert out[-1].blocks == call.blocks


def test_what_comes_together_is_one_chunk_up_to_the_next_citation():
    texts = [{"type": "text_delta", "text": text} for text in ("a", "b", "c", "d")]
    cited = {"type": "citations_delta", "citation": CITED}
    opening = {"type": "text", "text": "", "citations": None}
    _, out = read(start(), *block(opening, *texts[:2], cited, *texts[2:]), *stop())
    place = {"message_id": "msg_1", "block_index": 0}
    plain = k.MessageChunk(content="ab", **place)
    attached = k.MessageChunk(content="cd", citations=[{"blockIndex": 0, **CITED}], **place)
    assert [each for each in out if isinstance(each, k.MessageChunk)] == [plain, attached]


def test_a_message_that_never_began_cannot_end_well():
    call, out = read(*stop())
    assert (call.finished, call.failure.code, out) == (False, "unreadable", [])


def test_a_call_without_a_name_is_a_failure_and_no_silent_end():
    nameless = {"type": "tool_use", "id": "toolu_1", "input": {}}
    call, out = read(start(), *block(nameless), *stop("tool_use"))
    assert (call.finished, call.failure.code) == (False, "unreadable")
    assert not [each for each in out if isinstance(each, k.Message)]


TOKENS = {"output_tokens_details": {"thinking_tokens": 7}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def thoughts_of(out):
    return [each for each in out if isinstance(each, k.Thinking)]


def test_thinking_tokens_are_those_that_the_api_counts():
    for raws in ([start(), *block(THOUGHT), *stop(**TOKENS)],
                 [start(usage=TOKENS), *block(THOUGHT), *stop()]):  # fmt: skip
        _, out = read(*raws)
        assert out[-1].token_usage.thinking_tokens == 7
        assert [each.thinking_tokens for each in thoughts_of(out)] == [7]


def test_nobody_knows_how_many_tokens_each_of_two_thoughts_took():
    _, out = read(start(), *block(THOUGHT), *block(THOUGHT, index=1), *stop(**TOKENS))
    assert [each.thinking_tokens for each in thoughts_of(out)] == [UNSET, UNSET]
    assert out[-1].token_usage.thinking_tokens == 7


def test_a_thought_that_was_not_counted_has_no_number():
    _, out = read(start(), *block(THOUGHT), *stop())
    assert [each.thinking_tokens for each in thoughts_of(out)] == [UNSET]


def test_a_kept_thought_is_the_one_that_was_shown_and_took_as_long():
    times = iter([1.0, 3.5])
    call = Call(clock=lambda: next(times))
    out = call.feed([start(), *block(THOUGHT), *stop()])
    (shown,) = [each for each in out if isinstance(each, k.ThinkingComplete)]
    (kept,) = thoughts_of(out)
    assert shown.duration == kept.duration == 2500
    assert (kept.message_id, kept.block_index, kept.content) == ("msg_1", 0, shown.content)


def test_what_comes_after_a_block_was_closed_is_a_part_of_it():
    late = {"type": "content_block_delta", "index": 0, "delta": HELLO[1]["delta"]}
    call, out = read(start(), *HELLO, late, *stop())
    chunks = [each.content for each in out if isinstance(each, k.MessageChunk)]
    assert "".join(chunks) == out[-1].content == "Hello.Hello."


def test_a_null_at_the_end_does_not_take_back_the_reason():
    call, _ = read(start(), *HELLO, stop("max_tokens")[0], *stop(None))
    assert call.stop_reason == "max_tokens"


def test_a_field_beside_the_message_does_not_change_it():
    last, end = stop()
    _, out = read(start(), *HELLO, last | {"id": "other", "model": "other"}, end)
    assert (out[-1].message_id, out[-1].model) == ("msg_1", "claude")
    assert out[-1].details == {"id": "other", "model": "other"}


@pytest.mark.parametrize("count", ["many", -3, True, [1], {}])
def test_counts_that_are_none_are_not_billed(count):
    call, out = read(start(), *HELLO, *stop(output_tokens=count))
    assert (call.finished, out[-1].token_usage.output_tokens) == (True, 0)
    assert out[-1].reported["output_tokens"] == count
