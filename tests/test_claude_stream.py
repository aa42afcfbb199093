"""Claude's stream: bytes cut anywhere, and every kind of block. Recordings: test_recordings.py."""

import json
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_events import CITED, HELLO, TOOL, block, json_piece, read, start, stop

from turnlog.engines.claude import sse
from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.events import kinds as k
from turnlog.ports import CallStarted, UnreadableCall
from turnlog.simulator import RawBlock, RedactedThinking, Reply, Text, Thinking, ToolCall
from turnlog.simulator.stream import events

BODY = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "?"}]}
NEW = {"type": "telepathy_result", "waves": [1, {"deep": None}], "id": "x"}
ANSWER = Reply(
    Thinking("Let me see."),
    RedactedThinking("EmwK"),
    Text("It is “so” — 🦆.", (CITED,)),
    RawBlock(NEW),
    ToolCall("look", {"at": ["a", {"b": None}]}, "toolu_1"),
    chunk=3,
)


def said(reply):
    return [raw for raw in events(reply, BODY) if raw["type"] != "ping"]


def framed(raws, end="\n", ascii=False):
    frames = [
        f"event: {raw['type']}{end}data: {json.dumps(raw, ensure_ascii=ascii)}{end}{end}"
        for raw in raws
    ]
    return "".join(frames).encode()


def split(stream, cuts=()):
    splitter = SseSplitter()
    pieces = [stream[a:b] for a, b in pairwise([0, *sorted(cuts), len(stream)])]
    return [raw for piece in pieces for raw in splitter.feed(piece)] + splitter.close()


# bytes to raw events


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@settings(deadline=None)
@given(data=st.data())
def test_a_stream_may_be_cut_anywhere(end, data):
    raws = said(ANSWER)
    stream = framed(raws, end)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    assert split(stream, cuts) == raws


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_may_come_byte_by_byte(end):
    raws = said(ANSWER)
    stream = framed(raws, end)
    assert split(stream, range(len(stream))) == raws


FRAMES = {
    b'event: a\ndata: {"type": "a"}\n\n': [{"type": "a"}],
    b'event: b\ndata:{"type": "b"}   \n\n': [{"type": "b"}],
    b'data: {"type": "c"}\n\n': [{"type": "c"}],
    b'event: d\nid: 1\ndata: {"type": "d"}\n\n': [{"type": "d"}],
    b'event: e\ndata: {"type":\ndata: "e"}\n\n': [{"type": "e"}],
    b': data: {}\ndata: {"type": "f"}\n{"type": "not data"}\n\n': [{"type": "f"}],
    b'event: ping\ndata: {"type": "ping", "more": 1}\n\n': [],
    b'xevent: ping\ndata: {"type": "g"}\n\n': [{"type": "g"}],
    b'data: ["event: h",\ndata: {"type": "h"}]\n\n': [["event: h", {"type": "h"}]],
    b'event: i\ndata: {"type": "event: i"}\n\n': [{"type": "event: i"}],
    b": still here\n\n": [],
    b"event: done\ndata: [DONE]\n\n": [],
    b"\n\n": [],
}


@given(frames=st.lists(st.sampled_from(list(FRAMES)), max_size=9), joins=st.booleans())
def test_a_frame_says_the_same_whatever_stands_beside_it(frames, joins):
    raws = list(SseSplitter(joins=joins).feed(b"".join(frames)))
    assert raws == [raw for frame in frames for raw in FRAMES[frame]]


@pytest.mark.parametrize("word", ["event: ", "event: ping", "event: a data: {"])
def test_a_line_full_of_beginnings_is_read_once(word):
    """If each were followed to the end of its line, this would take many minutes."""
    words = word * (2_000_000 // len(word))
    frame = f': {words}\ndata: "{words}"\n\n'
    assert list(SseSplitter(joins=True).feed(frame.encode())) == [words]


KINDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
PIECES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(list(KINDS)), st.text(max_size=3)),
    min_size=2,
    max_size=8,
)
BLOCKS = [
    {"type": "text", "text": ""},
    {"type": "thinking", "thinking": ""},
    {"type": "tool_use", "id": "t", "name": "n", "input": {}},
]
BESIDE = st.sampled_from([{}, {}, {}, {"more": 1}])  # what a piece may have that is no text


@settings(deadline=None)
@given(pieces=PIECES, beside=BESIDE, ascii=st.booleans(), data=st.data())
def test_pieces_that_are_joined_say_the_same(pieces, beside, ascii, data):
    begun = [start(), *(block(made, index=i)[0] for i, made in enumerate(BLOCKS))]
    if data.draw(st.booleans()):  # of one block, as most are that come together
        pieces = [(*pieces[0][:2], text) for *_, text in pieces]
    deltas = [
        {"type": "content_block_delta", "index": i, "delta": {"type": kind, KINDS[kind]: text}}
        for i, kind, text in pieces
    ]
    deltas[-1]["delta"] |= beside
    stream = framed([*begun, *deltas, {"type": "message_stop"}], ascii=ascii)
    cut = data.draw(st.integers(0, len(stream)))
    one_by_one, joined = Call(), Call()
    one_by_one.feed(split(stream))
    with mock.patch.object(sse, "FEW", 0):
        splitter = SseSplitter(joins=True)
        raws = [raw for piece in (stream[:cut], stream[cut:]) for raw in splitter.feed(piece)]
    joined.feed(raws)
    assert joined.finished
    assert joined.blocks == one_by_one.blocks
    assert joined._details() == one_by_one._details()


def test_a_run_of_pieces_is_one_event_and_what_is_broken_in_it_stays_broken():
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ab"}}
    ] * 50
    for kind, name in KINDS.items():
        said = [delta | {"delta": {"type": kind, name: "ab"}} for delta in deltas]
        (whole,) = SseSplitter(joins=True).feed(framed(said))
        assert whole["delta"] == {"type": kind, name: "ab" * 50}
    halves = framed(deltas) + b"event: content_block_delta\ndata: {}, {}\n\n"
    with pytest.raises(ValueError, match="JSON"):
        list(SseSplitter(joins=True).feed(halves))
    cut = framed(deltas[:1]).replace(b"ab", b"a\n\nevent: content_block_delta\ndata: b")
    twice = framed(deltas[:1]).replace(b"data: ", b"data: " + json.dumps(deltas[0]).encode() + b",")
    with pytest.raises(ValueError, match="truncated"):  # with a comma between it were "a,b"
        list(SseSplitter(joins=True).feed(framed(deltas) + cut + twice))
    apart = framed(deltas[:1]).replace(b", ", b",\n\nevent: content_block_delta\ndata: ", 1)
    with pytest.raises(ValueError, match="truncated"):  # line by line they were one
        list(SseSplitter(joins=True).feed(framed(deltas) + apart))
    for empty in (b"", b" "):
        nothing = b"event: content_block_delta\ndata: " + empty + b"\n\n"
        assert list(SseSplitter(joins=True).feed(nothing)) == []
    untold = framed(deltas).replace(b'"type": "text_delta", ', b"", 1)
    raws = list(SseSplitter(joins=True).feed(untold))
    assert raws[0]["delta"] == {"text": "ab"}


BROKEN = {
    "cut": b'{"a": ',
    "too deep": b'{"a": ' + b"[" * 100_000,
    "whole only with the next": b'{"a":\n\nevent: x\ndata: {"b": 1}}',
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_came_before_a_broken_event_is_read(broken):
    hello = {"type": "hello"}
    events = iter(SseSplitter().feed(framed([hello]) + b"event: x\ndata: " + broken + b"\n\n"))
    assert next(events) == hello
    with pytest.raises((RecursionError, ValueError)):
        next(events)


NOISE = {
    "a ping": b'event: ping\ndata: {"type": "ping"}\n\n',
    "the end of other APIs": b"data: [DONE]\n\n",
    "a comment": b": keep-alive\n\n",
    "a comment that looks like data": b": data: nothing here\n\n",
    "a blank line too many": b"\n",
    "an event without data": b"event: nothing\n\n",
    "fields of the standard": b"id: 7\nretry: 100\n\n",
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_noise_between_events_is_no_event(noise):
    hello = {"type": "hello"}
    assert split(framed([hello]) + noise + framed([hello])) == [hello, hello]


def test_data_may_stand_in_several_lines_and_without_a_space():
    assert split(b'data:{"type":\ndata:"hello"}\n\n') == [{"type": "hello"}]


def test_a_last_event_without_a_blank_line_counts_if_it_is_whole():
    assert split(b'data: {"type": "hello"}') == [{"type": "hello"}]
    assert split(b'data: {"type": "hel') == []


# raw events to ours


def test_an_answer_becomes_chunks_then_kept_events():
    _, out = read(*said(ANSWER))
    types = [each.type for each in out if not isinstance(each, CallStarted)]
    seen = [kind for kind, before in zip(types, [None, *types], strict=False) if kind != before]
    assert seen == ["thinking_start", "thinking_chunk", "thinking_complete", "message_chunk",
                    "citations_found", "thinking", "message"]  # fmt: skip


def test_every_block_is_kept_as_it_came():
    call, out = read(*said(ANSWER))
    (message,) = [each for each in out if isinstance(each, k.Message)]
    kinds = ["thinking", "redacted_thinking", "text", "telepathy_result", "tool_use"]
    assert [block["type"] for block in message.blocks] == kinds
    assert message.blocks[3] == NEW
    assert message.blocks[4]["input"] == {"at": ["a", {"b": None}]}
    assert call.finished


def test_the_message_is_its_chunks_joined():
    _, out = read(*said(ANSWER))
    chunks = [each.content for each in out if isinstance(each, k.MessageChunk)]
    (message,) = [each for each in out if isinstance(each, k.Message)]
    assert message.content == "".join(chunks) == "It is “so” — 🦆."


def test_a_citation_stays_with_its_block():
    _, out = read(*said(ANSWER))
    (found,) = [each for each in out if isinstance(each, k.CitationsFound)]
    cited = [each.citations for each in out if isinstance(each, k.MessageChunk) if each.citations]
    (message,) = [each for each in out if isinstance(each, k.Message)]
    assert found.citations == [{"blockIndex": 2, "start": 0, "end": 15, **CITED}]
    assert cited == [[{"blockIndex": 2, **CITED}]]  # while it is written, no end is known
    assert message.citations == found.citations


def test_thoughts_are_kept_with_their_signature_or_data():
    _, out = read(*said(ANSWER))
    clear, hidden = [each for each in out if isinstance(each, k.Thinking)]
    assert (clear.content, clear.redacted, bool(clear.signature)) == ("Let me see.", False, True)
    assert (hidden.content, hidden.redacted, hidden.signature) == ("", True, "EmwK")


def test_counts_are_replaced_and_never_added_up():
    _, out = read(start(), *HELLO, *stop(input_tokens=9, output_tokens=7, speed=None))
    message = out[-1]
    assert message.reported == {"input_tokens": 9, "output_tokens": 7}
    assert message.token_usage.total_tokens == 16


def test_a_count_that_the_end_does_not_repeat_stays():
    _, out = read(start(), *HELLO, *stop(output_tokens=7, input_tokens=None))
    assert out[-1].token_usage.input_tokens == 5


def test_a_message_may_start_with_content():
    prefilled = [{"type": "text", "text": "Hello."}, TOOL | {"input": {"at": 1}}]
    _, out = read(start(content=prefilled), *stop("tool_use"))
    assert [each.content for each in out if isinstance(each, k.MessageChunk)] == ["Hello."]
    assert out[-1].blocks == prefilled


def test_a_message_that_starts_again_starts_anew():
    _, out = read(start(), *HELLO, start(id="msg_2"), *HELLO, *stop())
    assert (out[-1].message_id, out[-1].content) == ("msg_2", "Hello.")


def test_what_else_the_api_says_of_a_message_is_kept():
    _, out = read(start(container={"id": "c"}, stop_sequence=None), *HELLO, *stop())
    assert out[-1].details == {"container": {"id": "c"}}


def unreadable(out):
    return [each for each in out if isinstance(each, UnreadableCall)]


@pytest.mark.parametrize("text", ['{"at": "ha', "[1]", '"text"', "null", "{} {}"])
def test_arguments_that_are_no_json_object_are_never_run(text):
    _, out = read(start(), *HELLO, *block(TOOL, json_piece(text), index=1), *stop("tool_use"))
    assert unreadable(out) == [UnreadableCall(block=1)]
    assert out[-1].blocks[1]["input"] == {}
    assert out[-1].details == {"aside": {"block 1": {"partial_json": text}}}


@pytest.mark.parametrize("pieces", [[], [""], ["", " "]])
def test_a_tool_without_arguments_has_none(pieces):
    _, out = read(start(), *block(TOOL, *map(json_piece, pieces)), *stop("tool_use"))
    assert (out[-1].blocks, unreadable(out)) == ([TOOL], [])


def test_arguments_that_came_whole_are_not_lost_to_an_empty_piece():
    whole = TOOL | {"input": {"at": 1}}
    _, out = read(start(), *block(whole, json_piece("")), *stop("tool_use"))
    assert out[-1].blocks == [whole]


def test_a_call_that_the_model_did_not_end_on_is_kept():
    _, out = read(start(), *block(TOOL, json_piece('{"at": 1}')), *stop("max_tokens"))
    assert out[-1].blocks == [TOOL | {"input": {"at": 1}}]


def test_a_stream_without_its_end_is_not_finished():
    call, out = read(start(), *HELLO, stop()[0])
    assert not call.finished
    assert not [each for each in out if isinstance(each, k.Message)]


def test_an_error_in_the_stream_ends_it_and_what_came_before_was_said():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "key sk-secret"}}
    call, out = read(start(), *HELLO[:2], error, *stop())
    assert (call.failure.code, call.failure.retryable) == ("overloaded", True)
    assert "sk-secret" not in str(call.failure)
    assert out[-1] == k.MessageChunk(message_id="msg_1", content="Hello.", block_index=0)


def test_a_thought_says_how_long_it_took():
    times = iter([1.0, 3.5])
    call = Call(clock=lambda: next(times))
    out = call.feed([start(), *block({"type": "thinking", "thinking": "Hm."})])
    whole = k.ThinkingComplete(message_id="msg_1", content="Hm.", block_index=0, duration=2500)
    assert out[-1] == whole
