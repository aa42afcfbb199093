"""Recorded streams of the real API: read as Anthropic's SDK reads them, however they are cut.

`.final.json` beside a stream is what the SDK builds of it. Where we differ, `claude_drops`
has the reason.
"""

import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import CAPTURES, STREAMS, name

from turnlog.diagnosis.captures import Recorded
from turnlog.engines.claude.drops import Lost, reason
from turnlog.engines.claude.stream import Call, SseSplitter
from turnlog.events import codec
from turnlog.events import kinds as k
from turnlog.events.base import Event
from turnlog.events.chunks import as_one
from turnlog.pipeline.answer import read_answer
from turnlog.projections.history.messages import history
from turnlog.testing import samples as s

WHOLE = [path for path in STREAMS if Recorded(path.read_bytes()).whole]
BROKEN = [path for path in STREAMS if path not in WHOLE]
SMALL = [path for path in STREAMS if path.stat().st_size < 20_000]
needs_recordings = pytest.mark.skipif(not STREAMS, reason="shared/captures is missing")


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
    for each in out[1:]:
        one = as_one(joined[-1], each)
        joined[-1:] = [joined[-1], each] if one is None else [one]
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
    mine, other = without_nulls(ours(message)), without_nulls(sdks(path))
    differing = [key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)]
    starts = [each for each in Recorded(stream).events if each["type"] == "message_start"]
    reasons = {
        reason(Lost(path=key, values=[other], restarted=len(starts) > 1)) for key in differing
    }
    return "agrees" if not differing else f"differs by name: {reasons}"


@pytest.mark.parametrize("path", WHOLE, ids=name)
def test_a_whole_stream_is_read_as_anthropics_sdk_reads_it(path):
    seen = verdict(path)
    assert seen == "agrees" or ("begun again" in seen and "None" not in seen)


@pytest.mark.parametrize("path", BROKEN, ids=name)
def test_a_stream_that_broke_is_never_taken_for_an_answer(path):
    assert verdict(path).startswith("no answer")


@needs_recordings
def test_every_recording_was_read_and_this_is_how(capsys):
    index = json.loads((CAPTURES / "index.json").read_text())["streams"]
    assert {entry["sse"] for entry in index} == {f"{name(path)}.sse" for path in STREAMS}
    verdicts = Counter(verdict(path).partition(":")[0] for path in STREAMS)
    with capsys.disabled():
        print(f"\n{len(STREAMS)} recorded streams: {dict(verdicts)}")  # noqa: T201 - the count is what is shown
    assert sum(verdicts.values()) == len(index)
    assert verdicts["agrees"] == len(WHOLE) - 1
    assert verdicts["differs by name"] == 1  # a message that was begun again
    assert verdicts["no answer"] == len(BROKEN)


def without_blanks(blocks):
    """The API takes no blank text back, also when the model itself wrote it."""
    return [b for b in blocks if b["type"] != "text" or b["text"].strip()]


def goes_back(message):
    """Whether it can: not empty or refused, no thought last, every call with its result."""
    blocks = message.blocks
    called = {b["id"] for b in blocks if b["type"].endswith("_tool_use")}
    answered = {b["tool_use_id"] for b in blocks if b["type"].endswith("_tool_result")}
    said = [block["type"] for block in without_blanks(blocks)]
    some = said != [] and "thinking" not in said[-1]
    return some and message.stop_reason != "refusal" and called == answered


@needs_recordings
def test_what_the_model_said_goes_back_to_it_unchanged():
    back = 0
    for path in WHOLE:
        answer = read_answer(read(path.read_bytes())[1], set(), (), shown=True)
        if goes_back(answer.message):
            kept = [each for each in answer.outputs if isinstance(each, Event) and each.kept]
            results = [s.result(call.tool_use_id) for call in answer.calls]
            told = history(s.log_of([s.asked(), *kept, *results, s.asked()]))
            assert told[1]["content"] == without_blanks(answer.message.blocks)
            back += 1
    assert back > 200


@needs_recordings
@settings(deadline=None, max_examples=200)
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


@needs_recordings
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_stream_never_raises_and_what_is_kept_can_be_read_again(data):
    raws = Recorded(data.draw(st.sampled_from(SMALL), label="stream").read_bytes()).events
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


@pytest.mark.parametrize("path", SMALL[::7], ids=name)
def test_a_recording_may_come_byte_by_byte(path):
    stream = path.read_bytes()
    assert read(stream, range(len(stream)))[1] == read(stream)[1]
