"""Recorded streams: we read them as Anthropic's SDK reads them, in pieces of any size.

`.final.json` beside a stream is the message that the SDK builds from it. `drops.py` has the reason
for each difference.
"""

import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from examples import times
from hypothesis import given
from hypothesis import strategies as st
from recorded import FOLDERS, OURS, STREAMS, each
from recordings import write

from turnlog.diagnosis.captures import RecordedCall
from turnlog.engines.claude.drops import Lost, reason
from turnlog.engines.claude.sse import SseSplitter
from turnlog.engines.claude.stream import Call
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.chunks import as_one
from turnlog.events.rows import codec
from turnlog.projections.history.fold import history
from turnlog.speaking.answer import read_answer
from turnlog.testing import samples as s

WHOLE = [path for path in STREAMS if RecordedCall(path.read_bytes()).whole]
BROKEN = [path for path in STREAMS if path not in WHOLE]
SMALL = [path for path in STREAMS if path.stat().st_size < 20_000]


def read(stream, cuts=()):
    """What comes of the stream when it arrives in these pieces; neighbors joined."""
    call, splitter = Call(clock=lambda: 0.0), SseSplitter()
    out = []
    for a, b in pairwise([0, *sorted(cuts), len(stream)]):
        out += call.feed(splitter.feed(stream[a:b]))
        if call.finished or call.failure:
            break
    else:
        out += call.feed(splitter.close())
    joined = out[:1]
    for event in out[1:]:
        merged = as_one(joined[-1], event)
        joined[-1:] = [joined[-1], event] if merged is None else [merged]
    return call, joined


def ours(message):
    """The message as the API would have it."""
    return message.details | {
        "id": message.message_id,
        "type": "message",
        "role": message.role,
        "content": message.blocks,
        "model": message.model,
        "stop_reason": message.stop_reason,
        "usage": message.reported,
    }


def sdks(path):
    """What the SDK made of it; None where it gave up. It writes `from` as Python must."""
    final = path.with_name(path.name.removesuffix(".sse") + ".final.json")
    return json.loads(final.read_text().replace('"from_"', '"from"')) if final.exists() else None


def without_nulls(value):
    """Null says the same as nothing, and the SDK adds some that the API never sent."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def verdict(path):
    """How we read the stream, in comparison with the SDK."""
    stream = path.read_bytes()
    call, out = read(stream)
    if not call.finished:
        return f"no answer: {call.failure.code if call.failure else 'it was cut'}"
    (message,) = [each for each in out if isinstance(each, k.Message)]
    if sdks(path) is None:
        return "unknown to the SDK"
    mine, other = without_nulls(ours(message)), without_nulls(sdks(path))
    differing = [key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)]
    starts = [each for each in RecordedCall(stream).events if each["type"] == "message_start"]
    reasons = {
        reason(Lost(path=key, values=[other], restarted=len(starts) > 1)) for key in differing
    }
    return "agrees" if not differing else f"differs by name: {reasons}"


@pytest.mark.parametrize("path", each(WHOLE))
def test_a_whole_stream_is_read_as_anthropics_sdk_reads_it(path):
    seen = verdict(path)
    known = seen == "agrees" or ("begun again" in seen and "None" not in seen)
    assert known or f"{path.parent.name}/{path.stem}" in write.NO_FINAL


@pytest.mark.parametrize("path", each(BROKEN))
def test_a_stream_that_broke_is_never_taken_for_an_answer(path):
    assert verdict(path).startswith("no answer")


def test_our_recordings_are_written_from_their_scenes():
    contents = dict(write.files())
    for path, content in contents.items():
        assert path.read_bytes() == content, f"run `python {write.__file__}`"
    kinds = (".sse", ".final.json", ".request.json")
    assert {p for p in OURS.rglob("*") if p.name.endswith(kinds)} == set(contents)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_this_is_how_the_recordings_of_a_folder_are_read(folder, capsys):
    streams = [path for path in STREAMS if path.is_relative_to(folder)]
    if (index := folder / "index.json").exists():
        entries = json.loads(index.read_text())["streams"]
        assert {folder / entry["sse"] for entry in entries} == set(streams)
    verdicts = Counter(verdict(path).partition(":")[0] for path in streams)
    with capsys.disabled():
        print(f"\n{len(streams)} recorded streams: {dict(verdicts)}")
    broken = len(set(BROKEN) & set(streams))
    assert verdicts["differs by name"] == 1  # a message that was begun again
    assert verdicts["no answer"] == broken > 0
    unknown = verdicts["unknown to the SDK"]
    assert verdicts["agrees"] == len(streams) - broken - unknown - 1
    assert unknown == (len(write.NO_FINAL) if folder == OURS else 0)


def without_blanks(blocks):
    """The API takes no blank text back, also when the model itself wrote it."""
    return [b for b in blocks if b["type"] != "text" or b["text"].strip()]


def taken_back(block):
    """The API takes no `file_id` of a citation back, although it said it."""
    cited = block.get("citations")
    known = [{n: c[n] for n in c if n != "file_id"} for c in cited or ()]
    return block | {"citations": known} if cited else block


def goes_back(message):
    """Whether it can: not empty, refused or cut in a call; no thought last; all calls answered."""
    blocks = message.blocks
    called = {b["id"] for b in blocks if b["type"].endswith("_tool_use")}
    answered = {b["tool_use_id"] for b in blocks if b["type"].endswith("_tool_result")}
    said = [block["type"] for block in without_blanks(blocks)]
    some = said != [] and "thinking" not in said[-1]
    cut = message.stop_reason == "max_tokens" and said[-1:] == ["tool_use"]
    return some and not cut and message.stop_reason != "refusal" and called == answered


def test_what_the_model_said_goes_back_to_it_unchanged():
    back = 0
    for path in WHOLE:
        answer = read_answer(read(path.read_bytes())[1], set(), (), shown=True)
        if goes_back(answer.message):
            kept = [each for each in answer.outputs if isinstance(each, Event) and each.kept]
            results = [s.result(call.tool_use_id) for call in answer.calls]
            told = history(s.log_of([s.asked(), *kept, *results, s.asked()]))
            said = map(taken_back, without_blanks(answer.message.blocks))
            assert told[1]["content"] == [*said]
            back += 1
    assert back > len(WHOLE) * 0.7  # the others are empty, refused, or end in a call


@times(2)
@given(data=st.data())
def test_any_recording_may_be_cut_anywhere(data):
    stream = data.draw(st.sampled_from(STREAMS), label="stream").read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=40), label="cuts")
    assert read(stream, cuts)[1] == read(stream)[1]


ODD = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1) | st.text(max_size=3)
ODD = ODD | st.lists(ODD, max_size=2) | st.dictionaries(st.text(max_size=3), ODD, max_size=2)


def damaged(value, draw):
    """The value with something odd in some place, or with a part missing."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(ODD)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        return [damaged(v, draw) if n == place else v for n, v in enumerate(value)]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.booleans()):
        return {name: damaged(v, draw) if name == key else v for name, v in value.items()}
    return {name: v for name, v in value.items() if name != key}


@times(3)
@given(data=st.data())
def test_a_damaged_stream_never_raises_and_what_is_kept_can_be_read_again(data):
    raws = RecordedCall(data.draw(st.sampled_from(SMALL), label="stream").read_bytes()).events
    place = data.draw(st.integers(0, len(raws) - 1), label="place")
    raws[place] = damaged(raws[place], data.draw)
    call = Call(clock=lambda: 0.0)
    out = [each for each in call.feed(raws) if isinstance(each, Event)]
    assert call.finished == any(isinstance(each, k.Message) for each in out)
    assert not (call.finished and call.failure)
    for event in out:
        assert codec.decode(event.type, event.version, codec.encode(event)) == event
    kept = [each for each in out if each.kept]
    assert history(s.log_of([s.asked(), *kept], [s.asked()]))  # the session can go on


def test_no_text_follows_what_ends_an_answer():
    """What came waits for the window if its last event is text (`Exchange.data_received`). So text
    behind an error, or behind an end, would hold it up for as long.
    """
    for path in STREAMS:
        types = re.findall(rb"^event: (\w+)", path.read_bytes(), re.M)
        ends = [n for n, type in enumerate(types) if type in (b"error", b"message_delta")]
        assert b"content_block_delta" not in types[min(ends, default=len(types)) :], path


@pytest.mark.parametrize("path", each(SMALL[::7]))
def test_a_recording_may_come_byte_by_byte(path):
    stream = path.read_bytes()
    assert read(stream, range(len(stream)))[1] == read(stream)[1]
